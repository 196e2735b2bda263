import { IdMap, IdSequence } from './ids.ts';
import { inventConversation, inventInbox, inventTag, inventUser } from './invent.ts';
import type { Random } from './random.ts';
import type { InboxFields, SandboxConversation, SandboxInbox, SandboxTag, SandboxUser } from './rows.ts';

export type { SandboxConversation, SandboxInbox, SandboxTag, SandboxUser } from './rows.ts';

/** How many rows of each kind are seeded; three quarters of the ids stay below 2^53, what comes later lies above. */
interface WorldSize {
  inboxes: number;
  users: number;
  tags: number;
  conversations: number;
}

/**
 * What the service knows. Tests read it as the truth and change it with its verbs; every verb throws a RangeError on an
 * unknown id, does one thing only (a removed tag stays on its conversations, a removed user stays their assignee), and what
 * adds or removes returns the row.
 */
export class World {
  readonly inboxes = new IdMap<SandboxInbox>();
  readonly #removedInboxes = new Map<string, SandboxInbox>();
  readonly #removedConversations = new Map<SandboxInbox, Map<string, SandboxConversation>>();
  readonly #random: Random;
  readonly #now: () => number;
  readonly #historyEnd: number;
  readonly #ids: Record<keyof WorldSize | 'others', IdSequence>;
  #inboxesMade = 0;
  #usersMade = 0;

  constructor({
    random,
    now,
    historyEnd,
    size,
  }: {
    random: Random;
    now: () => number;
    historyEnd: number;
    size: WorldSize;
  }) {
    this.#random = random;
    this.#now = now;
    this.#historyEnd = historyEnd;
    this.#ids = {
      inboxes: new IdSequence({
        from: 20_117n,
        jumpTo: 2n ** 53n + 1n,
        jumpAfter: low(size.inboxes),
        step: 90,
      }),
      users: new IdSequence({
        from: 310_045n,
        jumpTo: 2n ** 54n + 1n,
        jumpAfter: low(size.users),
        step: 400,
      }),
      tags: new IdSequence({ from: 7_301n, jumpTo: 2n ** 56n + 1n, jumpAfter: low(size.tags), step: 30 }),
      // Steps of 1 to 3 past 2^53: two neighbours then round to the same number.
      conversations: new IdSequence({
        from: 41_000_003n,
        jumpTo: 2n ** 53n + 1n,
        jumpAfter: low(size.conversations),
        step: 3,
      }),
      others: new IdSequence({ from: 900_001n, jumpTo: 2n ** 57n + 1n, jumpAfter: 3, step: 50 }),
    };
  }

  /** A new id of one kind; `others` are notes, drafts and source users. */
  newId(kind: keyof WorldSize | 'others'): string {
    return this.#ids[kind].take(this.#random);
  }

  /** When (ms) something that happens at `at` happens in the world: a fake clock may stand before the seeded history's end. */
  instant(at: number = this.#now()): number {
    return Math.max(at, this.#historyEnd);
  }

  inbox(id: string): SandboxInbox {
    return known(this.inboxes, id, 'inbox');
  }

  conversation(inboxId: string, id: string): SandboxConversation {
    return known(this.inbox(inboxId).conversations, id, `conversation in inbox ${inboxId}`);
  }

  addInbox(partial: Partial<InboxFields> = {}): SandboxInbox {
    const id = partial.id ?? this.newId('inboxes');
    const made = inventInbox(this.#random, this.#inboxesMade++, this.instant(), this.newId('others'));
    const lists = {
      users: new IdMap<SandboxUser>(),
      tags: new IdMap<SandboxTag>(),
      conversations: new IdMap<SandboxConversation>(),
    };
    return add(this.inboxes, { id, ...made, ...partial, ...lists, notes: [], drafts: [] });
  }

  /** The inbox and all its lists go; {@link restoreInbox} brings them back as they were. */
  removeInbox(id: string): SandboxInbox {
    const inbox = remove(this.inboxes, id, 'inbox');
    this.#removedInboxes.set(id, inbox);
    return inbox;
  }

  restoreInbox(id: string): SandboxInbox {
    return add(this.inboxes, remove(this.#removedInboxes, id, 'removed inbox'));
  }

  addUser(inboxId: string, partial: Partial<SandboxUser> = {}): SandboxUser {
    const { users } = this.inbox(inboxId);
    const made = inventUser(this.#random, this.#usersMade++);
    return add(users, { id: partial.id ?? this.newId('users'), ...made, ...partial });
  }

  removeUser(inboxId: string, id: string): SandboxUser {
    return remove(this.inbox(inboxId).users, id, `user in inbox ${inboxId}`);
  }

  addTag(inboxId: string, partial: Partial<SandboxTag> = {}): SandboxTag {
    const { tags } = this.inbox(inboxId);
    const made = inventTag(this.#random, tags.size, this.instant());
    return add(tags, { id: partial.id ?? this.newId('tags'), ...made, ...partial });
  }

  removeTag(inboxId: string, id: string): SandboxTag {
    return remove(this.inbox(inboxId).tags, id, `tag in inbox ${inboxId}`);
  }

  /** Open, unassigned and untagged unless told otherwise. The same id may stand in several inboxes. */
  addConversation(inboxId: string, partial: Partial<SandboxConversation> = {}): SandboxConversation {
    const { conversations } = this.inbox(inboxId);
    const id = partial.id ?? this.newId('conversations');
    return add(conversations, {
      ...inventConversation(this.#random, this.instant(), inboxId, id),
      ...partial,
    });
  }

  removeConversation(inboxId: string, id: string): SandboxConversation {
    const inbox = this.inbox(inboxId);
    const conversation = remove(inbox.conversations, id, `conversation in inbox ${inboxId}`);
    const removed = this.#removedConversations.get(inbox) ?? new Map<string, SandboxConversation>();
    this.#removedConversations.set(inbox, removed.set(id, conversation));
    return conversation;
  }

  restoreConversation(inboxId: string, id: string): SandboxConversation {
    const inbox = this.inbox(inboxId);
    const removed = this.#removedConversations.get(inbox) ?? new Map<string, SandboxConversation>();
    return add(inbox.conversations, remove(removed, id, `removed conversation in inbox ${inboxId}`));
  }

  /** Any text: more statuses than the documented three may come. */
  setStatus(inboxId: string, id: string, status: string): void {
    this.conversation(inboxId, id).status = status;
  }

  assign(inboxId: string, id: string, userId: string | null): void {
    const conversation = this.conversation(inboxId, id);
    if (userId !== null) known(this.inbox(inboxId).users, userId, `user in inbox ${inboxId}`);
    conversation.assignee = userId === null ? null : { assignee_type: 'user', assignee_id: userId };
  }

  tag(inboxId: string, id: string, tagId: string): void {
    const conversation = this.conversation(inboxId, id);
    known(this.inbox(inboxId).tags, tagId, `tag in inbox ${inboxId}`);
    if (!conversation.tag_ids.includes(tagId)) conversation.tag_ids = [...conversation.tag_ids, tagId];
  }

  untag(inboxId: string, id: string, tagId: string): void {
    const conversation = this.conversation(inboxId, id);
    if (!conversation.tag_ids.includes(tagId))
      known(this.inbox(inboxId).tags, tagId, `tag in inbox ${inboxId}`);
    conversation.tag_ids = conversation.tag_ids.filter((attached) => attached !== tagId);
  }
}

/** How many ids of a seeded kind stay below 2^53. */
function low(rows: number): number {
  return Math.max(1, Math.floor(rows * 0.75));
}

function known<T>(rows: ReadonlyMap<string, T>, id: string, what: string): T {
  const row = rows.get(id);
  if (row === undefined) throw new RangeError(`no ${what} has the id ${id}`);
  return row;
}

function add<T extends { id: string }>(rows: Map<string, T>, row: T): T {
  if (!/^(?:0|[1-9]\d*)$/.test(row.id))
    throw new RangeError(`an id is digits without leading zeros, not ${row.id}`);
  if (rows.has(row.id)) throw new RangeError(`the id ${row.id} is taken`);
  rows.set(row.id, row);
  return row;
}

function remove<T>(rows: Map<string, T>, id: string, what: string): T {
  const row = known(rows, id, what);
  rows.delete(id);
  return row;
}
