import { COLUMNS, type Item, type ListName, type Value } from './lists.ts';

/** What the mirror knows of an item before a page is applied. */
export interface Known {
  readonly columns: Readonly<Record<string, Value>>;
  readonly tags: readonly string[] | null;
  /** True where the row bears a tombstone. */
  readonly deleted: boolean;
}

/** One field's difference, its values as SQL shows them. */
export interface Difference {
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
}

export const PRESENT = 'present';
export const MISSING = 'missing';

/** The change of an item that appeared, came back (`MISSING` to `PRESENT`), or went. */
export function presence(to: typeof PRESENT | typeof MISSING): Difference {
  return { field: 'presence', from: to === PRESENT ? MISSING : PRESENT, to };
}

/**
 * The differences between what is known of an item and what came (DESIGN.md, "Tables"): a new item is one `presence` row;
 * one that comes back has that row and its changed columns; else a row per changed column and per tag added or removed.
 */
export function diff(list: ListName, known: Known | undefined, item: Item): Difference[] {
  if (known === undefined) return [presence(PRESENT)];
  const found: Difference[] = known.deleted ? [presence(PRESENT)] : [];
  for (const field of Object.keys(COLUMNS[list])) {
    const from = asText(known.columns[field]);
    const to = asText(item.columns[field]);
    if (from !== to) found.push({ field, from, to });
  }
  // An item that does not say its tags says nothing about them.
  const before = new Set(item.tags === null ? [] : known.tags);
  const after = new Set(item.tags);
  for (const tag of before) if (!after.has(tag)) found.push({ field: 'tags', from: tag, to: null });
  for (const tag of after) if (!before.has(tag)) found.push({ field: 'tags', from: null, to: tag });
  return found;
}

function asText(value: Value | undefined): string | null {
  return value === null || value === undefined ? null : String(value);
}
