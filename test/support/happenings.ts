import * as fc from 'fast-check';
import type { World } from '../../src/sandbox/world/world.ts';

const KINDS = [
  'status',
  'status',
  'assign',
  'unassign',
  'add',
  'remove',
  'return',
  'tag',
  'untag',
  'add-tag',
  'remove-tag',
  'rename-user',
  'remove-inbox',
  'return-inbox',
  'add-inbox',
] as const;

/** One event at the service. The numbers select rows among those that exist at the time. */
export interface Happening {
  readonly kind: (typeof KINDS)[number];
  readonly inbox: number;
  readonly row: number;
  readonly other: number;
}

export const happening: fc.Arbitrary<Happening> = fc.record({
  kind: fc.constantFrom(...KINDS),
  inbox: fc.nat(7),
  row: fc.nat(97),
  other: fc.nat(97),
});

const STATUSES = ['open', 'pending', 'closed', 'close', 'snoozed'];

/** Applies events to a service's world. */
export class Happenings {
  readonly #world: World;
  readonly #words: readonly string[];
  readonly #goneInboxes: string[] = [];
  readonly #goneRows: [inbox: string, conversation: string][] = [];

  /** @param words statuses, and the names of users, new tags and inboxes */
  constructor(world: World, words: readonly string[] = STATUSES) {
    this.#world = world;
    this.#words = words;
  }

  /** Applies an event if it is possible. Remembers removed rows so that they can return. */
  make({ kind, inbox: nth, row, other }: Happening): void {
    const world = this.#world;
    const inboxes = [...world.inboxes.values()];
    if (kind === 'return-inbox') {
      const id = this.#goneInboxes.pop();
      if (id !== undefined) world.restoreInbox(id);
      return;
    }
    const inbox = inboxes[nth % inboxes.length];
    if (inbox === undefined) return;
    const conversation = [...inbox.conversations.values()][row % inbox.conversations.size];
    const user = inbox.users.order[other % inbox.users.order.length] ?? null;
    const tag = inbox.tags.order[other % inbox.tags.order.length];
    const word = this.#words[other % this.#words.length] ?? '';
    if (kind === 'add') world.addConversation(inbox.id);
    else if (kind === 'add-tag') world.addTag(inbox.id, { name: word });
    else if (kind === 'rename-user') Object.assign(inbox.users.get(user ?? '') ?? {}, { last_name: word });
    else if (kind === 'add-inbox' && inboxes.length < 3) {
      const { id } = world.addInbox({ display_name: word });
      for (let left = 0; left < 4; left++) world.addConversation(id);
    } else if (kind === 'remove-inbox') {
      world.removeInbox(inbox.id);
      this.#goneInboxes.push(inbox.id);
    } else if (kind === 'return') this.#return(inbox.id);
    else if (kind === 'remove-tag' && tag !== undefined) world.removeTag(inbox.id, tag);
    else if (conversation === undefined) return;
    else if (kind === 'status') world.setStatus(inbox.id, conversation.id, word);
    else if (kind === 'assign') world.assign(inbox.id, conversation.id, user);
    else if (kind === 'unassign') world.assign(inbox.id, conversation.id, null);
    else if (kind === 'tag' && tag !== undefined) world.tag(inbox.id, conversation.id, tag);
    else if (kind === 'untag') this.#untag(inbox.id, conversation.id, conversation.tag_ids[0]);
    else if (kind === 'remove') {
      world.removeConversation(inbox.id, conversation.id);
      this.#goneRows.push([inbox.id, conversation.id]);
    }
  }

  #return(inboxId: string): void {
    const at = this.#goneRows.findIndex(([id]) => id === inboxId);
    const [back] = at === -1 ? [] : this.#goneRows.splice(at, 1);
    if (back !== undefined) this.#world.restoreConversation(...back);
  }

  #untag(inboxId: string, id: string, tagId: string | undefined): void {
    if (tagId !== undefined) this.#world.untag(inboxId, id, tagId);
  }
}

/** Neighbours among the conversations of an inbox. The numbers select them among those that exist. */
export interface Some {
  readonly inbox: number;
  readonly row: number;
  readonly rows: number;
}

/** The list leaves out some conversations from now on, which the service still returns by their id. */
export function unlistSome(world: World, { inbox: nth, row, rows }: Some): void {
  const inboxes = [...world.inboxes.values()];
  const inbox = inboxes[nth % inboxes.length];
  if (inbox === undefined) return;
  const ids = inbox.conversations.order;
  const from = row % Math.max(1, ids.length);
  for (const id of ids.slice(from, from + rows)) world.unlistConversation(inbox.id, id);
}
