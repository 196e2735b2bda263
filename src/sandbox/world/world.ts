import { IdMap, IdSequence } from './ids.ts';
import { inventConversation, inventInbox, inventTag, inventUser } from './invent.ts';
import type { Random } from './random.ts';
import type { InboxFields, SandboxConversation, SandboxInbox, SandboxTag, SandboxUser } from './rows.ts';

export type { SandboxConversation, SandboxInbox, SandboxTag, SandboxUser } from './rows.ts';

/**
 * The number of seeded rows of each kind. Three quarters of their ids are below 2^53, all later ids above.
 */
interface WorldSize {
  inboxes: number;
  users: number;
  tags: number;
  conversations: number;
}

interface WorldOptions {
  random: Random;
  now: () => number;
  /** The end (ms) of the seeded history. */
  historyEnd: number;
  size: WorldSize;
}

/**
 * The service's data. Tests read it as the truth and change it through its methods. Every method throws a
 * RangeError on an unknown id. Each method changes one thing only: a removed tag stays on its conversations,
 * and a removed user stays their assignee. A method that adds or removes a row returns it.
 */
export class World {
  readonly inboxes = new IdMap<SandboxInbox>();
  readonly #removedInboxes = new Map<string, SandboxInbox>();
  readonly #removedConversations = new Map<SandboxInbox, Map<string, SandboxConversation>>();
  readonly #random: Random;
  readonly #now: () => number;
  readonly #historyEnd: number;
  readonly #ids: Record<keyof WorldSize | 'others', IdSequence>;
  #inboxesInvented = 0;
  #usersInvented = 0;

  constructor({ random, now, historyEnd, size }: WorldOptions) {
    this.#random = random;
    this.#now = now;
    this.#historyEnd = historyEnd;
    this.#ids = {
      inboxes: new IdSequence({
        from: 20_117n,
        jumpTo: 2n ** 53n + 1n,
        jumpAfter: lowIdCount(size.inboxes),
        step: 90,
      }),
      users: new IdSequence({
        from: 310_045n,
        jumpTo: 2n ** 54n + 1n,
        jumpAfter: lowIdCount(size.users),
        step: 400,
      }),
      tags: new IdSequence({
        from: 7_301n,
        jumpTo: 2n ** 56n + 1n,
        jumpAfter: lowIdCount(size.tags),
        step: 30,
      }),
      // Past 2^53, steps of 1 to 3 let two neighbours round to the same JavaScript number.
      conversations: new IdSequence({
        from: 41_000_003n,
        jumpTo: 2n ** 53n + 1n,
        jumpAfter: lowIdCount(size.conversations),
        step: 3,
      }),
      others: new IdSequence({ from: 900_001n, jumpTo: 2n ** 57n + 1n, jumpAfter: 3, step: 50 }),
    };
  }

  /** Returns a new id of a kind; `others` are notes, drafts and source users. */
  newId(kind: keyof WorldSize | 'others'): string {
    return this.#ids[kind].next(this.#random);
  }

  /** Returns the time (ms) of an event: `at`, or the seeded history's end if a fake clock is before it. */
  eventTime(at: number = this.#now()): number {
    return Math.max(at, this.#historyEnd);
  }

  inbox(id: string): SandboxInbox {
    return requireRow(this.inboxes, id, 'inbox');
  }

  conversation(inboxId: string, id: string): SandboxConversation {
    return requireRow(this.inbox(inboxId).conversations, id, `conversation in inbox ${inboxId}`);
  }

  addInbox(partial: Partial<InboxFields> = {}): SandboxInbox {
    const id = partial.id ?? this.newId('inboxes');
    const invented = inventInbox(
      this.#random,
      this.#inboxesInvented++,
      this.eventTime(),
      this.newId('others'),
    );
    const lists = {
      users: new IdMap<SandboxUser>(),
      tags: new IdMap<SandboxTag>(),
      conversations: new IdMap<SandboxConversation>(),
      unlisted: new Set<string>(),
    };
    return add(this.inboxes, { id, ...invented, ...partial, ...lists, notes: [], drafts: [] });
  }

  /** Removes the inbox with all its lists; {@link restoreInbox} adds them again unchanged. */
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
    const invented = inventUser(this.#random, this.#usersInvented++);
    return add(users, { id: partial.id ?? this.newId('users'), ...invented, ...partial });
  }

  removeUser(inboxId: string, id: string): SandboxUser {
    return remove(this.inbox(inboxId).users, id, `user in inbox ${inboxId}`);
  }

  addTag(inboxId: string, partial: Partial<SandboxTag> = {}): SandboxTag {
    const { tags } = this.inbox(inboxId);
    const invented = inventTag(this.#random, tags.size, this.eventTime());
    return add(tags, { id: partial.id ?? this.newId('tags'), ...invented, ...partial });
  }

  removeTag(inboxId: string, id: string): SandboxTag {
    return remove(this.inbox(inboxId).tags, id, `tag in inbox ${inboxId}`);
  }

  /** Adds a conversation: open, unassigned and untagged by default. Several inboxes may hold the same id. */
  addConversation(inboxId: string, partial: Partial<SandboxConversation> = {}): SandboxConversation {
    const { conversations } = this.inbox(inboxId);
    const id = partial.id ?? this.newId('conversations');
    return add(conversations, {
      ...inventConversation(this.#random, this.eventTime(), inboxId, id),
      ...partial,
    });
  }

  /** The list leaves the conversation out from now on; a request by its id still returns it. */
  unlistConversation(inboxId: string, id: string): void {
    this.conversation(inboxId, id);
    this.inbox(inboxId).unlisted.add(id);
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

  /** Accepts any text: the service may have more statuses than the three documented ones. */
  setStatus(inboxId: string, id: string, status: string): void {
    this.conversation(inboxId, id).status = status;
  }

  assign(inboxId: string, id: string, userId: string | null): void {
    const conversation = this.conversation(inboxId, id);
    if (userId !== null) requireRow(this.inbox(inboxId).users, userId, `user in inbox ${inboxId}`);
    conversation.assignee = userId === null ? null : { assignee_type: 'user', assignee_id: userId };
  }

  tag(inboxId: string, id: string, tagId: string): void {
    const conversation = this.conversation(inboxId, id);
    requireRow(this.inbox(inboxId).tags, tagId, `tag in inbox ${inboxId}`);
    if (!conversation.tag_ids.includes(tagId)) conversation.tag_ids = [...conversation.tag_ids, tagId];
  }

  untag(inboxId: string, id: string, tagId: string): void {
    const conversation = this.conversation(inboxId, id);
    if (!conversation.tag_ids.includes(tagId))
      requireRow(this.inbox(inboxId).tags, tagId, `tag in inbox ${inboxId}`);
    conversation.tag_ids = conversation.tag_ids.filter((attached) => attached !== tagId);
  }
}

/** Returns how many ids of a kind with `rows` seeded rows are below 2^53. */
function lowIdCount(rows: number): number {
  return Math.max(1, Math.floor(rows * 0.75));
}

function requireRow<T>(rows: ReadonlyMap<string, T>, id: string, description: string): T {
  const row = rows.get(id);
  if (row === undefined) throw new RangeError(`no ${description} has the id ${id}`);
  return row;
}

function add<T extends { id: string }>(rows: Map<string, T>, row: T): T {
  if (!/^(?:0|[1-9]\d*)$/.test(row.id))
    throw new RangeError(`an id must be digits without leading zeros, not ${row.id}`);
  if (rows.has(row.id)) throw new RangeError(`the id ${row.id} already exists`);
  rows.set(row.id, row);
  return row;
}

function remove<T>(rows: Map<string, T>, id: string, description: string): T {
  const row = requireRow(rows, id, description);
  rows.delete(id);
  return row;
}
