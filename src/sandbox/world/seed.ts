import { DAY, SECOND } from '../../core/clock.ts';
import { conversationCounts, inboxCount, type SandboxOptions } from '../options.ts';
import { inventThreadId } from './invent.ts';
import { draw, pick, type Random, randomStream } from './random.ts';
import type { SandboxAssignee, SandboxConversation, SandboxInbox } from './rows.ts';
import { World } from './world.ts';

/** The seeded history covers 540 days. */
const HISTORY_DAYS = 540;
/** The history ends in 2025 at the earliest: with a fake clock at 0, threads would start before 1970. */
const EARLIEST_END = Date.UTC(2025, 0, 1);

/** Returns the end (ms) of the seeded history: the start of today, so that one day gives the same data. */
function endOfHistory(now: number): number {
  return Math.max(EARLIEST_END, Math.floor(now / DAY) * DAY);
}

/**
 * Creates the world that the options describe. The first inboxes and users are the busiest; old
 * conversations are mostly closed.
 */
export function seedWorld(options: SandboxOptions): World {
  const random = randomStream(options.seed, 'data');
  const end = endOfHistory(options.now());
  const counts = conversationCounts(options);
  const inboxes = inboxCount(options);
  const world = new World({
    random,
    now: options.now,
    historyEnd: end,
    size: {
      inboxes,
      users: inboxes * options.usersPerInbox,
      tags: inboxes * options.tagsPerInbox,
      conversations: counts.reduce((sum, count) => sum + count, 0),
    },
  });
  // The dates of the rows derive from `end`, not from the clock, so two runs on one day give the same rows.
  const endSeconds = Math.floor(end / SECOND);
  for (let nth = 0; nth < inboxes; nth++) {
    const inbox = world.addInbox();
    inbox.created_at = endSeconds - (DAY / SECOND) * HISTORY_DAYS - draw(random, 10_000_000);
    inbox.updated_at = inbox.created_at + draw(random, endSeconds - inbox.created_at);
    seedUsers(world, random, inbox, options.usersPerInbox);
    for (let tags = 0; tags < options.tagsPerInbox; tags++) {
      world.addTag(inbox.id, { created_at: inbox.created_at + draw(random, endSeconds - inbox.created_at) });
    }
  }
  seedConversations(world, random, {
    counts,
    end,
    sharedShare: options.sharedShare,
    closed: options.closedStatus,
  });
  return world;
}

/** About a third of an inbox's users also belong to an earlier inbox, with the same id. */
function seedUsers(world: World, random: Random, inbox: SandboxInbox, count: number): void {
  const colleagues = [...world.inboxes.values()].flatMap(({ users }) => Array.from(users.values()));
  while (inbox.users.size < count) {
    const colleague = colleagues.length > 0 && random() < 0.33 ? pick(random, colleagues) : null;
    if (colleague === null) world.addUser(inbox.id);
    else if (!inbox.users.has(colleague.id)) world.addUser(inbox.id, { ...colleague });
  }
}

interface HistoryOptions {
  counts: readonly number[];
  end: number;
  sharedShare: number;
  closed: string;
}

/** Adds the conversations of all inboxes in order of time, because ids increase with time across inboxes. */
function seedConversations(
  world: World,
  random: Random,
  { counts, end, sharedShare, closed }: HistoryOptions,
): void {
  const inboxes = [...world.inboxes.values()];
  const starts: { at: number; inbox: SandboxInbox }[] = [];
  for (const [nth, inbox] of inboxes.entries()) {
    for (let left = counts[nth] ?? 0; left > 0; left--)
      starts.push({ at: end - HISTORY_DAYS * DAY * random() ** 1.5, inbox });
  }
  starts.sort((a, b) => a.at - b.at);

  let previous: { inbox: SandboxInbox; conversation: SandboxConversation } | null = null;
  for (const { at, inbox } of starts) {
    const fields = {
      ...inventState(random, inbox, (end - at) / DAY, closed),
      gmail_thread_id: inventThreadId(random, at),
    };
    // Share the previous conversation if another inbox has it; then clear it: at most two inboxes share one.
    if (previous !== null && previous.inbox !== inbox && random() < sharedShare) {
      const { id, gmail_thread_id } = previous.conversation;
      world.addConversation(inbox.id, { ...fields, id, gmail_thread_id });
      previous = null;
    } else {
      previous = { inbox, conversation: world.addConversation(inbox.id, fields) };
    }
  }
}

/** Invents the status, assignee and tags of a conversation that started `days` ago. */
function inventState(random: Random, inbox: SandboxInbox, days: number, closed: string) {
  const stillOpen = random() < Math.max(0.015, Math.exp(-days / 8));
  const status = !stillOpen ? closed : random() < 0.7 ? 'open' : 'pending';
  const assigned = inbox.users.size > 0 && random() < (status === 'open' ? 0.6 : 0.94);
  const assignee: SandboxAssignee | null = assigned
    ? { assignee_type: 'user', assignee_id: pick(random, inbox.users.order, 2) }
    : null;
  const tags = new Set<string>();
  for (let left = inbox.tags.size > 0 ? draw(random, 4, 2) : 0; left > 0; left--)
    tags.add(pick(random, inbox.tags.order, 2));
  return { status, assignee, tag_ids: [...tags] };
}
