import { COLUMNS, type Item, LIST_NAMES, type ListName, type Value } from './lists.ts';

/** The stored state of an item before a page is applied. */
export interface Known {
  readonly columns: Readonly<Record<string, Value>>;
  readonly tags: readonly string[] | null;
  /** True if the row has a tombstone. */
  readonly deleted: boolean;
}

/** One field's difference; the values are the text that `changes` stores. */
export interface Difference {
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
  /** Only where an item appears or returns: what it was seen with. */
  readonly values?: ItemValues;
}

/**
 * The values of an item, in the form of `changes`: the text of each column or null, and the ids of a
 * conversation's tags, sorted.
 */
export type ItemValues = Readonly<Record<string, string | null | readonly string[]>>;

/** The field of a change that is about the whole item, and its two values. */
export const PRESENCE = 'presence';
export const PRESENT = 'present';
export const MISSING = 'missing';

/** The fields that a change can have: of one list, or of all. */
export function changedFields(list?: ListName): string[] {
  const lists = list === undefined ? LIST_NAMES : [list];
  const columns = lists.flatMap((name) => Object.keys(COLUMNS[name]));
  return [...new Set([PRESENCE, ...columns, ...(lists.includes('conversations') ? ['tags'] : [])])];
}

/** The change of an item that appeared or returned (to `PRESENT`), or that is gone (to `MISSING`). */
export function presence(to: typeof PRESENT | typeof MISSING): Difference {
  return { field: PRESENCE, from: to === PRESENT ? MISSING : PRESENT, to };
}

/**
 * The differences between the stored item and the received one (docs/tables.md, `changes`). A new item has
 * one row, of `presence`, with its values. An item that returns has that row and those of its columns and
 * tags. Any other item has one row per changed column and one per tag added or removed.
 */
export function diff(list: ListName, known: Known | undefined, item: Item): Difference[] {
  const appeared = { ...presence(PRESENT), values: valuesOf(list, known, item) };
  if (known === undefined) return [appeared];
  const found: Difference[] = known.deleted ? [appeared] : [];
  for (const field of Object.keys(COLUMNS[list])) {
    const from = asText(known.columns[field]);
    const to = asText(item.columns[field]);
    if (from !== to) found.push({ field, from, to });
  }
  // An item without the tags field leaves the stored tags as they are.
  const before = new Set(item.tags === null ? [] : known.tags);
  const after = new Set(item.tags);
  for (const tag of before) if (!after.has(tag)) found.push({ field: 'tags', from: tag, to: null });
  for (const tag of after) if (!before.has(tag)) found.push({ field: 'tags', from: null, to: tag });
  return found;
}

/** Fields that follow another one. */
const FOLLOWS: Readonly<Record<string, string>> = {
  assignee_type: 'assignee_id',
  thread_started_at: 'thread_id',
};

/** The number of changes that differences show. A field that follows another does not count beside it. */
export function changesIn(differences: readonly Difference[]): number {
  const fields = new Set(differences.map(({ field }) => field));
  return differences.filter(({ field }) => !fields.has(FOLLOWS[field] ?? '')).length;
}

/** The item as it is stored once it is written. Without the tags field, it keeps the stored tags. */
function valuesOf(list: ListName, known: Known | undefined, item: Item): ItemValues {
  const columns = Object.keys(COLUMNS[list]).map((column) => [column, asText(item.columns[column])]);
  const tags = list === 'conversations' ? { tags: (item.tags ?? known?.tags ?? []).toSorted() } : {};
  return { ...Object.fromEntries(columns), ...tags };
}

function asText(value: Value | undefined): string | null {
  return value === null || value === undefined ? null : String(value);
}
