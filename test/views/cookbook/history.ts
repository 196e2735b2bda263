import { statusName } from '../../../src/core/lists.ts';
import { DAY } from '../../../src/core/clock.ts';
import type { Database } from '../../../src/database/database.ts';

/** Rows as the tables hold them. Instants are epoch ms; no view is read. */
interface Raw {
  readonly inboxes: readonly { id: string; display_name: string; is_authorised: boolean }[];
  readonly users: readonly Person[];
  readonly tags: readonly { inbox_id: string; id: string; name: string }[];
  readonly links: readonly { inbox_id: string; conversation_id: string; tag_id: string }[];
  readonly conversations: readonly ConversationRow[];
  readonly changes: readonly Change[];
  readonly sweeps: readonly { list: string; inbox_id: string | null; state: string; finished: number }[];
  readonly requests: readonly RequestRow[];
}

interface Person {
  readonly inbox_id: string;
  readonly id: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
}

interface ConversationRow {
  readonly inbox_id: string;
  readonly id: string;
  readonly status: string;
  readonly assignee_id: string | null;
  readonly first_seen: number;
}

export interface Change {
  readonly id: number;
  readonly observed: number;
  readonly list: string;
  readonly inbox_id: string | null;
  readonly item_id: string;
  readonly field: string;
  readonly old_value: string | null;
  readonly new_value: string | null;
}

interface RequestRow {
  readonly sent: number;
  readonly list: string;
  readonly reason: string;
  readonly status: number | null;
  readonly items: number | null;
}

/** The time in which a conversation kept a status or an assignee; `to` is null while it lasts. */
export interface Stay {
  readonly value: string | null;
  readonly from: number;
  readonly to: number | null;
}

/** A conversation of the present, with its history. No conversation of this history was ever gone. */
export interface Conversation {
  readonly id: string;
  readonly inboxId: string;
  readonly inbox: string;
  readonly status: string;
  readonly assigneeId: string | null;
  readonly tags: readonly string[];
  readonly firstSeen: number;
  /** True if it was there at the first sweep. */
  readonly isOld: boolean;
  readonly lastChanged: number;
  readonly statuses: readonly Stay[];
  readonly assignees: readonly Stay[];
}

export interface History extends Raw {
  readonly now: number;
  readonly all: readonly Conversation[];
  /** What a user is called; null for no user. */
  readonly nameOf: (userId: string | null) => string | null;
}

/** Reads the raw rows of a mirror, and follows each conversation through its changes. */
export async function readHistory(database: Database, now: number): Promise<History> {
  const raw = await readRaw(database);
  const changes = Map.groupBy(
    raw.changes.filter(({ list }) => list === 'conversations'),
    ({ inbox_id: inbox, item_id: item }) => `${inbox}/${item}`,
  );
  const tags = Map.groupBy(raw.links, (link) => `${link.inbox_id}/${link.conversation_id}`);
  const all = raw.conversations.map((row) => {
    const key = `${row.inbox_id}/${row.id}`;
    const own = changes.get(key) ?? [];
    return {
      id: row.id,
      inboxId: row.inbox_id,
      inbox: raw.inboxes.find(({ id }) => id === row.inbox_id)!.display_name,
      status: statusName(row.status),
      assigneeId: row.assignee_id,
      tags: (tags.get(key) ?? []).map((link) => link.tag_id),
      firstSeen: row.first_seen,
      isOld: !own.some(({ field }) => field === 'presence'),
      lastChanged: own.at(-1)?.observed ?? row.first_seen,
      statuses: stays(own, 'status', row, statusName),
      assignees: stays(own, 'assignee_id', row, (id) => id),
    };
  });
  const nameOf = (userId: string | null): string | null => {
    const user = raw.users.find(({ id }) => id === userId);
    return user === undefined ? null : `${user.first_name} ${user.last_name}`;
  };
  return { ...raw, now, all, nameOf };
}

/** The stays of a conversation, from its present value back through the old values of its changes. */
function stays(
  changes: readonly Change[],
  field: 'status' | 'assignee_id',
  row: ConversationRow,
  nameOf: (value: string | null) => string | null,
): Stay[] {
  const found: Stay[] = [];
  let to: number | null = null;
  let value = nameOf(row[field]);
  for (const change of changes.filter((one) => one.field === field).toReversed()) {
    const before = nameOf(change.old_value);
    if (before === value) continue;
    found.unshift({ value, from: change.observed, to });
    value = before;
    to = change.observed;
  }
  return [{ value, from: row.first_seen, to }, ...found];
}

async function readRaw(database: Database): Promise<Raw> {
  const read = async <Found>(sql: string): Promise<Found[]> => await database.query<Found>(sql);
  const timed = async <Found>(sql: string): Promise<Found[]> =>
    (await read<Record<string, unknown>>(sql)).map(
      (row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [name, value instanceof Date ? value.getTime() : value]),
        ) as Found,
    );
  return {
    inboxes: await read('SELECT id, display_name, is_authorised FROM inboxes ORDER BY id'),
    users: await read('SELECT inbox_id, id, first_name, last_name FROM inbox_users'),
    tags: await read('SELECT inbox_id, id, name FROM inbox_tags'),
    links: await read('SELECT inbox_id, conversation_id, tag_id FROM conversation_tags'),
    conversations: await timed(
      'SELECT inbox_id, id, status, assignee_id, first_seen_at AS first_seen FROM conversations',
    ),
    changes: await timed(
      `SELECT id, observed_at AS observed, list, inbox_id, item_id, field, old_value, new_value
       FROM changes ORDER BY id`,
    ),
    sweeps: await timed(
      'SELECT list, inbox_id, state, finished_at AS finished FROM sweeps ORDER BY finished_at',
    ),
    requests: await timed('SELECT sent_at AS sent, list, reason, status, items FROM requests'),
  };
}

export type Row = readonly (string | number | null)[];

/** The length of a stay in ms, up to now if it lasts. */
export function lengthOf({ from, to }: Stay, now: number): number {
  return (to ?? now) - from;
}

export function valueAt(all: readonly Stay[], at: number): string | null | undefined {
  return all.find(({ from, to }) => from <= at && (to === null || to > at))?.value;
}

export function isOpen({ status }: { readonly status: string }): boolean {
  return status !== 'closed';
}

export function count<Item>(items: readonly Item[], is: (item: Item) => boolean): number {
  return items.filter(is).length;
}

/** Compares rows by these columns; a minus before the number turns the order round, and null comes last. */
export function by(...columns: number[]): (one: Row, other: Row) => number {
  return (one, other) => {
    for (const column of columns) {
      const at = Math.abs(column) - 1;
      const [a, b] = [one[at] ?? '\uffff', other[at] ?? '\uffff'];
      if (a !== b) return (a < b ? -1 : 1) * Math.sign(column);
    }
    return 0;
  };
}

/** The five days of the history, each with its end; the last one ends now. */
export function daysOf({ now }: History): { day: string; from: number; to: number }[] {
  const first = Date.parse('2026-03-02T00:00:00Z');
  return [0, 1, 2, 3, 4].map((nth) => ({
    day: new Date(first + nth * DAY).toISOString().slice(0, 10),
    from: first + nth * DAY,
    to: Math.min(now, first + (nth + 1) * DAY),
  }));
}
