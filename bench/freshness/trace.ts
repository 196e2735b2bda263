import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { draw, type Random, randomStream } from '../../src/sandbox/world/random.ts';
import {
  type Account,
  exponential,
  geometric,
  isWeekend,
  normal,
  sizesOf,
  START,
  WEEKEND,
  whenDone,
  workingTime,
} from './account.ts';

/** The kinds of a change: `open` adds the conversation, the others change it. */
export type ChangeKind = 'open' | 'assign' | 'tag' | 'close' | 'reopen';

/** A change of a conversation at the service. */
export interface Change {
  /** Epoch ms. */
  readonly at: number;
  /** The inbox, the largest first. */
  readonly inbox: number;
  /** The place of the conversation in its list; later ones have greater numbers. */
  readonly row: number;
  readonly kind: ChangeKind;
}

/** All changes of an account in some weeks. */
export interface Trace {
  /** Conversations in each inbox at the start. */
  readonly sizes: readonly number[];
  /** In order of time. */
  readonly changes: readonly Change[];
}

/** Rows a page. */
export const PAGE = 100;

/** Changes are invented for this many days before the start, so that it finds conversations at work. */
const DAYS_BEFORE = 42;

/** Days of every trace: enough to learn the true rates from it. A run uses the first of them. */
export const TRACE_DAYS = 28;

/** Changes of a conversation come in sessions. Means are of geometric or exponential distributions. */
const LATER_SESSIONS = 2.2;
const FURTHER_CHANGES = { first: 0.5, later: 1.3 };
const GAP_MS = 6 * MINUTE;
/** Rests between sessions are lognormal with the account's median; this is the deviation of the logarithm. */
const REST_DEVIATION = 1;

/** This share of the later sessions is done at once with others: 15 to 40 of an inbox within ten minutes. */
const BULK = { share: 0.6, least: 15, most: 40, within: 10 * MINUTE };

/** The share of changes that fall on rows outside the newest 5 % of their list (issue: 12 %). */
const OLD = { share: 0.12, newest: 0.05 };

/** A session leaves the conversation closed with this probability. */
const CLOSES = 0.7;

interface Session {
  at: number;
  /** Milliseconds from the session's start to each of its changes. */
  readonly offsets: readonly number[];
  readonly before: Session | null;
  readonly conversation: Conversation;
  isBulk: boolean;
}

interface Conversation {
  readonly inbox: number;
  readonly openedAt: number;
  readonly sessions: Session[];
}

/** Invents what the people of an account do. The same seed gives the same trace. */
export function traceOf(account: Account, seed: number): Trace {
  const sizes = sizesOf(account);
  const conversations = openings(account, randomStream(seed, 'openings'));
  const random = randomStream(seed, 'sessions');
  for (const conversation of conversations) planSessions(conversation, account.restHours * HOUR, random);
  bringForward(conversations, randomStream(seed, 'bulk'));
  const changes = changesOf(conversations, sizes, randomStream(seed, 'kinds'));
  changes.push(...oldTouches({ sizes, changes }, randomStream(seed, 'old')));
  changes.sort((a, b) => a.at - b.at);
  return { sizes, changes };
}

/** The conversations of all days in order of opening. An inbox's share is 1 / its rank. */
function openings({ inboxes, newADay }: Account, random: Random): Conversation[] {
  const opened = [];
  for (let day = START - DAYS_BEFORE * DAY; day < START + TRACE_DAYS * DAY; day += DAY) {
    const expected = newADay * (isWeekend(day) ? WEEKEND : 1);
    const count = Math.floor(expected + random());
    for (let nth = 0; nth < count; nth += 1)
      opened.push({ inbox: drawInbox(inboxes, random), openedAt: workingTime(day, random), sessions: [] });
  }
  return opened.sort((a, b) => a.openedAt - b.openedAt);
}

function drawInbox(inboxes: number, random: Random): number {
  let left = random() * harmonic(inboxes);
  for (let inbox = 0; inbox < inboxes - 1; inbox += 1) if ((left -= 1 / (inbox + 1)) < 0) return inbox;
  return inboxes - 1;
}

function harmonic(count: number): number {
  let sum = 0;
  for (let rank = 1; rank <= count; rank += 1) sum += 1 / rank;
  return sum;
}

function planSessions(conversation: Conversation, restMs: number, random: Random): void {
  let before = addSession(conversation, conversation.openedAt, FURTHER_CHANGES.first, null, random);
  for (let later = geometric(random, LATER_SESSIONS); later > 0; later -= 1) {
    const rest = restMs * Math.exp(REST_DEVIATION * normal(random));
    const at = Math.max(whenDone(endOf(before) + rest, random), endOf(before) + MINUTE);
    before = addSession(conversation, at, FURTHER_CHANGES.later, before, random);
  }
}

function addSession(
  conversation: Conversation,
  at: number,
  further: number,
  before: Session | null,
  random: Random,
): Session {
  const offsets = [0];
  for (let left = geometric(random, further); left > 0; left -= 1)
    offsets.push(Math.floor(offsets.at(-1)! + 1 + exponential(random, GAP_MS)));
  const planned = { at, offsets, before, conversation, isBulk: false };
  conversation.sessions.push(planned);
  return planned;
}

function endOf({ at, offsets }: Session): number {
  return at + offsets.at(-1)!;
}

/** Moves sessions forward to moments in which a person works through an inbox. */
function bringForward(conversations: readonly Conversation[], random: Random): void {
  const later = conversations.flatMap(({ sessions }) => sessions.slice(1)).sort((a, b) => a.at - b.at);
  const byInbox = Map.groupBy(later, ({ conversation }) => conversation.inbox);
  const mean = (BULK.least + BULK.most) / 2;
  const moments = Array.from({ length: Math.round((BULK.share * later.length) / mean) }, () => {
    // The inbox and the day of any session: busy ones come up more often.
    const { at, conversation } = later[draw(random, later.length)]!;
    return { at: workingTime(Math.floor(at / DAY) * DAY, random), inbox: conversation.inbox };
  });
  for (const { at, inbox } of moments.sort((a, b) => a.at - b.at)) {
    const taken = new Set<Conversation>();
    const wanted = BULK.least + draw(random, BULK.most - BULK.least + 1);
    for (const waiting of byInbox.get(inbox) ?? []) {
      if (taken.size === wanted) break;
      const { before, conversation } = waiting;
      if (waiting.isBulk || waiting.at <= at || taken.has(conversation) || endOf(before!) >= at) continue;
      waiting.at = at + Math.floor(random() * BULK.within);
      waiting.isBulk = true;
      taken.add(conversation);
    }
  }
}

/** The changes from the start on. Conversations opened before it are the last rows of their lists. */
function changesOf(
  conversations: readonly Conversation[],
  sizes: readonly number[],
  random: Random,
): Change[] {
  const changes: Change[] = [];
  for (const [inbox, ofInbox] of Map.groupBy(conversations, (one) => one.inbox)) {
    const earlier = ofInbox.filter(({ openedAt }) => openedAt < START).length;
    for (const [nth, conversation] of ofInbox.entries()) {
      const row = sizes[inbox]! - earlier + nth;
      for (const [index, { at, offsets }] of conversation.sessions.entries())
        for (const [place, offset] of offsets.entries()) {
          const change = { at: at + offset, inbox, row, kind: kindOf(index, place, offsets.length, random) };
          if (row >= 0 && isWithinTrace(change)) changes.push(change);
        }
    }
  }
  return changes;
}

function isWithinTrace({ at }: Change): boolean {
  return at >= START && at < START + TRACE_DAYS * DAY;
}

function kindOf(session: number, place: number, length: number, random: Random): ChangeKind {
  if (session === 0 && place === 0) return 'open';
  if (place === length - 1 && random() < CLOSES) return 'close';
  if (place === 0) return 'reopen';
  return random() < 0.5 ? 'assign' : 'tag';
}

/** Single changes of rows far back, anywhere in their list, so many that their share is right. */
function oldTouches({ sizes, changes }: Trace, random: Random): Change[] {
  const old = withPlaces({ sizes, changes }).filter(({ rank, length }) => rank >= OLD.newest * length).length;
  const missing = Math.round((OLD.share * changes.length - old) / (1 - OLD.share));
  const touches = [];
  for (let left = missing; left > 0; left -= 1) {
    const { at } = changes[draw(random, changes.length)]!;
    const inbox = drawInbox(sizes.length, random);
    const row = Math.floor(random() * sizes[inbox]! * (1 - OLD.newest));
    const kind = random() < 0.5 ? 'assign' : 'tag';
    touches.push({ at: workingTime(Math.floor(at / DAY) * DAY, random), inbox, row, kind } as const);
  }
  return touches;
}

/** A change with its row's rank from the newest, and the length of the list, at that instant. */
export interface PlacedChange extends Change {
  readonly rank: number;
  readonly length: number;
}

/** Finds the place of each change in its list when it happens. */
export function withPlaces({ sizes, changes }: Trace): PlacedChange[] {
  const lengths = [...sizes];
  return changes
    .toSorted((a, b) => a.at - b.at)
    .map((change) => {
      if (change.kind === 'open') lengths[change.inbox]! += 1;
      const length = lengths[change.inbox]!;
      return { ...change, rank: length - 1 - change.row, length };
    });
}
