import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { SandboxInbox, World } from '../../src/sandbox/world/world.ts';
import { TestClock } from '../support/clock.ts';
import { histories } from '../support/histories.ts';
import { memoryService, type TestMirror } from '../support/mirror.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { syncSettled } from '../support/settle.ts';
import { quickMirror } from '../support/template.ts';
import { conversationColumns, expectEqualToService, inboxColumns, tagColumns } from '../support/truth.ts';

const MOST_REMOVED = 20;
const PAGE_SIZE = 10;
const HISTORIES = histories(ON_SQLITE ? 4 : 2, ON_SQLITE ? 150 : 30);

/** One event in the account. The numbers select rows among those that exist at the time. */
interface Happening {
  readonly kind: (typeof KINDS)[number];
  readonly inbox: number;
  readonly row: number;
  readonly other: number;
}

const KINDS = [
  'status',
  'assign',
  'unassign',
  'tag',
  'untag',
  'add-conversation',
  'remove-conversation',
  'remove-many',
  'return-conversation',
  'rename-user',
  'join-user',
  'add-user',
  'remove-user',
  'return-user',
  'rename-tag',
  'add-tag',
  'remove-tag',
  'return-tag',
  'rename-inbox',
  'unauthorise-inbox',
  'add-inbox',
  'remove-inbox',
  'return-inbox',
] as const;

/**
 * Applies random events to the sandbox. It remembers removed rows so that they can return,
 * and removes at most 20 rows of a list between two syncs.
 */
class Account {
  readonly #world: World;
  #goneInboxes: string[] = [];
  #goneRows: { list: string; inboxId: string; id: string; back: () => void }[] = [];
  #removed = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  synced(): void {
    this.#removed = new Map();
  }

  happen({ kind, inbox: nth, row, other }: Happening): void {
    const world = this.#world;
    if (kind === 'add-inbox') {
      if (world.inboxes.size < 4) this.#furnish(world.addInbox());
      return;
    }
    if (kind === 'return-inbox') {
      const id = this.#goneInboxes.pop();
      if (id !== undefined) world.restoreInbox(id);
      return;
    }
    const inbox = choose([...world.inboxes.values()], nth);
    if (inbox === undefined) return;
    const conversation = choose([...inbox.conversations.values()], row);
    const user = choose([...inbox.users.values()], kind === 'assign' ? other : row);
    const tag = choose([...inbox.tags.values()], kind === 'tag' ? other : row);
    switch (kind) {
      case 'status':
        if (conversation)
          world.setStatus(
            inbox.id,
            conversation.id,
            ['open', 'pending', 'closed', 'a new status'][other % 4]!,
          );
        break;
      case 'assign':
        if (conversation && user) world.assign(inbox.id, conversation.id, user.id);
        break;
      case 'unassign':
        if (conversation) world.assign(inbox.id, conversation.id, null);
        break;
      case 'tag':
        if (conversation && tag) world.tag(inbox.id, conversation.id, tag.id);
        break;
      case 'untag':
        if (conversation?.tag_ids.length)
          world.untag(inbox.id, conversation.id, choose(conversation.tag_ids, other)!);
        break;
      case 'add-conversation':
        for (let left = other % 15; left >= 0; left--) world.addConversation(inbox.id);
        break;
      case 'remove-conversation':
        if (conversation) this.#removeConversation(inbox, conversation.id);
        break;
      case 'remove-many':
        for (let left = other % (MOST_REMOVED + 5); left > 0; left--) {
          const next = choose(inbox.conversations.order, row);
          if (next !== undefined) this.#removeConversation(inbox, next);
        }
        break;
      case 'return-conversation':
        this.#return('conversations', inbox, row);
        break;
      case 'rename-user':
        if (user) user.last_name = `Renamed ${other}`;
        break;
      case 'join-user':
        if (user) user.is_joined = !user.is_joined;
        break;
      case 'add-user':
        world.addUser(inbox.id);
        break;
      case 'remove-user':
        if (user && this.#mayRemove('users', inbox)) {
          world.removeUser(inbox.id, user.id);
          this.#keep('users', inbox, user.id, () => world.addUser(inbox.id, user));
        }
        break;
      case 'return-user':
        this.#return('users', inbox, row);
        break;
      case 'rename-tag':
        if (tag) tag.name = `tag ${other}`;
        break;
      case 'add-tag':
        world.addTag(inbox.id);
        break;
      case 'remove-tag':
        if (tag && this.#mayRemove('tags', inbox)) {
          world.removeTag(inbox.id, tag.id);
          this.#keep('tags', inbox, tag.id, () => world.addTag(inbox.id, tag));
        }
        break;
      case 'return-tag':
        this.#return('tags', inbox, row);
        break;
      case 'rename-inbox':
        inbox.display_name = `Inbox ${other}`;
        inbox.updated_at += 1 + (other % 100);
        break;
      case 'unauthorise-inbox':
        inbox.is_authorised = !inbox.is_authorised;
        break;
      case 'remove-inbox':
        world.removeInbox(inbox.id);
        this.#goneInboxes.push(inbox.id);
        break;
    }
  }

  #furnish({ id }: SandboxInbox): void {
    for (let left = 3; left > 0; left--) this.#world.addUser(id);
    for (let left = 2; left > 0; left--) this.#world.addTag(id);
    for (let left = 14; left > 0; left--) this.#world.addConversation(id);
  }

  #removeConversation(inbox: SandboxInbox, id: string): void {
    if (!this.#mayRemove('conversations', inbox)) return;
    this.#world.removeConversation(inbox.id, id);
    this.#keep('conversations', inbox, id, () => this.#world.restoreConversation(inbox.id, id));
  }

  #mayRemove(list: string, { id }: SandboxInbox): boolean {
    const key = `${list}/${id}`;
    const removed = (this.#removed.get(key) ?? 0) + 1;
    this.#removed.set(key, removed);
    return removed <= MOST_REMOVED;
  }

  #keep(list: string, inbox: SandboxInbox, id: string, back: () => void): void {
    this.#goneRows.push({ list, inboxId: inbox.id, id, back });
  }

  #return(list: string, inbox: SandboxInbox, nth: number): void {
    const gone = choose(
      this.#goneRows.filter((row) => row.list === list && row.inboxId === inbox.id),
      nth,
    );
    if (gone === undefined) return;
    this.#goneRows = this.#goneRows.filter((row) => row !== gone);
    gone.back();
  }
}

function choose<T>(rows: readonly T[], nth: number): T | undefined {
  return rows[nth % rows.length];
}

/** A row of the table `changes`. `before` is the number of the sync that saw the item last, or null. */
interface RecordedChange {
  readonly list: string;
  readonly inbox_id: string | null;
  readonly item_id: string;
  readonly field: string;
  readonly old_value: string | null;
  readonly new_value: string | null;
  readonly before: number | null;
}

/** One row of a list as a sync saw it. */
type Seen = [id: string, columns: Record<string, string | boolean | null>, tags: readonly string[]];

interface Remembered {
  fields: Map<string, string | null>;
  tags: Set<string>;
  seenBy: number;
  gone: boolean;
}

/**
 * Computes the expected changes (docs/tables.md, "The history") from the whole service, once per sync.
 * It knows nothing of pages and sweeps.
 */
class Reader {
  readonly #lists = new Map<string, Map<string, Remembered>>();

  changesAt(world: World, sync: number): RecordedChange[] {
    const inboxes = [...world.inboxes.values()];
    const changes = this.#compare(
      'inboxes',
      null,
      inboxes.map((inbox) => [inbox.id, inboxColumns(inbox), []]),
      sync,
    );
    for (const { id, users, tags, conversations } of inboxes) {
      const lists: Record<string, Seen[]> = {
        users: Array.from(users.values(), (user) => [user.id, Object.fromEntries(Object.entries(user)), []]),
        tags: Array.from(tags.values(), (tag) => [tag.id, tagColumns(tag), []]),
        conversations: Array.from(conversations.values(), (row) => [
          row.id,
          conversationColumns(row),
          row.tag_ids,
        ]),
      };
      for (const [list, rows] of Object.entries(lists)) changes.push(...this.#compare(list, id, rows, sync));
    }
    return changes;
  }

  #compare(list: string, inboxId: string | null, rows: readonly Seen[], sync: number): RecordedChange[] {
    const key = `${list}/${inboxId}`;
    const remembered = this.#lists.get(key);
    const memory = remembered ?? new Map<string, Remembered>();
    this.#lists.set(key, memory);
    const changes: RecordedChange[] = [];
    const present = new Set<string>();
    for (const [id, { id: _id, ...columns }, tags] of rows) {
      present.add(id);
      const fields = new Map(
        Object.entries(columns).map(([name, value]) => [name, value === null ? null : String(value)]),
      );
      const known = memory.get(id);
      const record = (field: string, old_value: string | null, new_value: string | null): void => {
        changes.push({
          list,
          inbox_id: inboxId,
          item_id: id,
          field,
          old_value,
          new_value,
          before: known?.seenBy ?? null,
        });
      };
      if (known === undefined || known.gone) record('presence', 'missing', 'present');
      if (known !== undefined) {
        for (const [name, value] of fields)
          if (known.fields.get(name) !== value) record(name, known.fields.get(name) ?? null, value);
        for (const tag of known.tags) if (!tags.includes(tag)) record('tags', tag, null);
        for (const tag of tags) if (!known.tags.has(tag)) record('tags', null, tag);
      }
      memory.set(id, { fields, tags: new Set(tags), seenBy: sync, gone: false });
    }
    for (const [id, known] of memory) {
      if (present.has(id) || known.gone) continue;
      changes.push({
        list,
        inbox_id: inboxId,
        item_id: id,
        field: 'presence',
        old_value: 'present',
        new_value: 'missing',
        before: known.seenBy,
      });
      known.gone = true;
    }
    return remembered === undefined ? [] : changes;
  }
}

/** The changes after the first `after` ones, each with the sync that contains `previously_seen_at`. */
async function newChanges(
  { database }: TestMirror,
  after: number,
  syncs: readonly [from: number, to: number][],
): Promise<RecordedChange[]> {
  const rows = await database.query<
    Omit<RecordedChange, 'before'> & { previously_seen_at: Date | null; observed_at: Date }
  >(
    `SELECT list, inbox_id, item_id, field, old_value, new_value, previously_seen_at, observed_at FROM changes WHERE id > $1 ORDER BY id`,
    after,
  );
  const during = (time: Date): number =>
    syncs.findIndex(([from, to]) => time.getTime() >= from && time.getTime() <= to);
  const changes: RecordedChange[] = [];
  for (const { previously_seen_at: seen, observed_at: observed, ...row } of rows) {
    expect(during(observed)).toBe(syncs.length - 1);
    changes.push({ ...row, before: seen === null ? null : during(seen) });
  }
  return changes;
}

function sorted(changes: RecordedChange[]): string[] {
  return changes
    .map((change) => JSON.stringify(Object.entries(change).sort(([a], [b]) => (a < b ? -1 : 1))))
    .sort();
}

const happening: fc.Arbitrary<Happening> = fc.record({
  kind: fc.constantFrom(...KINDS),
  inbox: fc.nat(7),
  row: fc.nat(997),
  other: fc.nat(997),
});

test(
  'after any history, a settled sync makes the tables equal, and `changes` has exactly the differences',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1000),
        fc.constantFrom('data' as const, 'top' as const),
        fc.constantFrom('string' as const, 'number' as const, 'mixed' as const),
        fc.array(fc.array(happening, { maxLength: 25 }), { minLength: 1, maxLength: 5 }),
        async (seed, envelope, idType, history) => {
          const account = { conversations: [34, 12], usersPerInbox: 4, tagsPerInbox: 5, sharedShare: 0.3 };
          const clock = new TestClock();
          const service = memoryService({ seed, envelope, idType, ...account }, clock);
          const mirror = await quickMirror({ pageSize: PAGE_SIZE, clock, service });
          const { world } = mirror.sandbox;
          const life = new Account(world);
          const reader = new Reader();
          const syncs: [number, number][] = [];
          let known = 0;
          for (const happenings of [[], ...history]) {
            for (const one of happenings) life.happen(one);
            mirror.clock.advance(HOUR);
            const from = mirror.clock.now();
            const { stopped, lists } = await syncSettled(mirror);
            syncs.push([from, mirror.clock.now()]);
            life.synced();
            expect(stopped).toBeNull();
            expect(lists.filter(({ outcome, suspects }) => outcome !== 'complete' || suspects > 0)).toEqual(
              [],
            );
            await expectEqualToService(mirror);
            const changes = await newChanges(mirror, known, syncs);
            known += changes.length;
            expect(sorted(changes)).toEqual(sorted(reader.changesAt(world, syncs.length - 1)));
          }
          await mirror.database.close();
        },
      ),
      HISTORIES.parameters,
    );
  },
  HISTORIES.timeoutMs,
);
