import type { Sql } from '../../src/database/database.ts';

/** An item as one of the tables has it, with every value as the text that `changes` would hold. */
export interface FoldedItem {
  readonly list: string;
  readonly inboxId: string | null;
  readonly values: Record<string, string | null>;
  /** A conversation's tag ids, sorted. */
  readonly tags: readonly string[];
  readonly isGone: boolean;
}

type Cell = string | boolean | Date | null;

/** Items by list, inbox and id. */
export type World = Map<string, FoldedItem>;

/** JSON as a query returns it: a text from a view on SQLite, else a value. */
type Json = string | Record<string, string | null | string[]>;

interface Entry {
  readonly list: string;
  readonly inbox_id: string | null;
  readonly item_id: string;
}

interface FirstSight extends Entry {
  readonly is_gone: boolean | number;
  readonly item_values: Json;
}

interface Change extends Entry {
  readonly id: number;
  readonly field: string;
  readonly old_value: string | null;
  readonly new_value: string | null;
  readonly item_values: Json | null;
}

/** The tables in which the mirror keeps each list. */
const TABLES = {
  inboxes: 'inboxes',
  users: 'inbox_users',
  tags: 'inbox_tags',
  conversations: 'conversations',
};

/** The columns of those tables that are no value of the service. */
const OWN = /^(id|inbox_id|raw|content_hash|first_seen_at|changed_at|missing_since|deleted_at|known_since)$/;

/** The tables of items and the links of tags, as they are. */
export async function readTables(sql: Sql): Promise<World> {
  const world: World = new Map();
  const links = await sql.query<Record<'inbox_id' | 'conversation_id' | 'tag_id', string>>(
    'SELECT * FROM conversation_tags',
  );
  for (const [list, table] of Object.entries(TABLES)) {
    for (const row of await sql.query<Record<string, Cell>>(`SELECT * FROM ${table}`)) {
      const id = textOf(row['id'] ?? null) ?? '';
      const inboxId = list === 'inboxes' ? null : textOf(row['inbox_id'] ?? null);
      const ofItem = links.filter((link) => link.inbox_id === inboxId && link.conversation_id === id);
      world.set(keyOf({ list, inbox_id: inboxId, item_id: id }), {
        list,
        inboxId,
        values: Object.fromEntries(
          Object.entries(row).flatMap(([name, value]) => (OWN.test(name) ? [] : [[name, textOf(value)]])),
        ),
        tags: list === 'conversations' ? ofItem.map((link) => link.tag_id).sort() : [],
        isGone: row['deleted_at'] !== null,
      });
    }
  }
  return world;
}

/** Folds the first sights and all changes up to an id. An inbox that is gone takes its items along. */
export async function fold(sql: Sql, upTo: number): Promise<World> {
  const world: World = new Map();
  const sights = await sql.query<FirstSight>('SELECT * FROM first_sights');
  for (const { is_gone: isGone, item_values: values, ...entry } of sights)
    world.set(keyOf(entry), { ...seenWith(entry, values), isGone: Boolean(isGone) });
  const changes = await sql.query<Change>('SELECT * FROM changes WHERE id <= $1 ORDER BY id', upTo);
  for (const change of changes) world.set(keyOf(change), applied(world.get(keyOf(change)), change));
  return new Map(
    Array.from(world, ([key, item]) => {
      const inbox = world.get(keyOf({ list: 'inboxes', inbox_id: null, item_id: item.inboxId ?? '' }));
      return [key, { ...item, isGone: item.isGone || inbox?.isGone === true }];
    }),
  );
}

/** The item after a change. Throws if the change does not continue what is known of the item. */
function applied(item: FoldedItem | undefined, change: Change): FoldedItem {
  const { field, old_value: from, new_value: to, item_values: values } = change;
  if (field === 'presence' && to === 'present') {
    if (values === null) throw new Error(`change ${change.id} has no values`);
    return { ...seenWith(change, values), isGone: false };
  }
  if (item === undefined) throw new Error(`change ${change.id} is of an unknown item`);
  if (field === 'presence') return { ...item, isGone: true };
  if (field === 'tags') {
    const others = item.tags.filter((tag) => tag !== from && tag !== to);
    return { ...item, tags: to === null ? others : [...others, to].sort() };
  }
  const known = item.values[field];
  // The values of a return are those after the changes that follow it.
  if (known !== from && known !== to) throw new Error(`change ${change.id}: ${field} was ${known}`);
  return { ...item, values: { ...item.values, [field]: to } };
}

function seenWith({ list, inbox_id: inboxId }: Entry, json: Json): Omit<FoldedItem, 'isGone'> {
  const { tags, ...values } = typeof json === 'string' ? (JSON.parse(json) as Exclude<Json, string>) : json;
  return {
    list,
    inboxId,
    values: values as Record<string, string | null>,
    tags: list === 'conversations' ? (tags as string[]) : [],
  };
}

function textOf(value: Cell): string | null {
  if (value instanceof Date) return value.toISOString();
  return value === null ? null : String(value);
}

function keyOf({ list, inbox_id, item_id }: Entry): string {
  return `${list}/${inbox_id ?? ''}/${item_id}`;
}
