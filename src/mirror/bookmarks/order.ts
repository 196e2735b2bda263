/** The order in which a list has its ids. */
export type Direction = 'asc' | 'desc';

/** Digits without leading zeros, so that longer means greater. */
const CANONICAL = /^(0|[1-9]\d*)$/;

/** Compares ids as whole numbers of any length. */
export function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True if `id` comes after `other` in the list. */
export function isBeyond(direction: Direction, id: string, other: string): boolean {
  const compared = compareIds(id, other);
  return direction === 'asc' ? compared > 0 : compared < 0;
}

/** True if each id is a number without leading zeros, beyond the one before it. */
export function isInOrder(direction: Direction, ids: readonly string[]): boolean {
  return ids.every((id, index) => {
    const before = ids[index - 1];
    return CANONICAL.test(id) && (before === undefined || isBeyond(direction, id, before));
  });
}

/** True for an id between the first and the last of a page's ids: the page would have shown its row. */
export function isBetween(direction: Direction, id: string, ids: readonly string[]): boolean {
  const [first, last] = [ids.at(0), ids.at(-1)];
  if (first === undefined || last === undefined) return false;
  return isBeyond(direction, id, first) && isBeyond(direction, last, id);
}

/** The strict order of ids; null if they have none. Fewer than two ids count as ascending. */
export function directionOf(ids: readonly string[]): Direction | null {
  const [first, second] = ids;
  const isDescending = first !== undefined && second !== undefined && compareIds(first, second) > 0;
  const direction = isDescending ? 'desc' : 'asc';
  return isInOrder(direction, ids) ? direction : null;
}

/** A SQL expression that orders text ids as {@link compareIds} does, on both databases. */
export function sqlOrder(id: string): string {
  return `(length(${id}), ${id})`;
}

/** The SQL comparison for "comes after" in the list's order. */
export function sqlBeyond(direction: Direction): '>' | '<' {
  return direction === 'asc' ? '>' : '<';
}

/** Ids of more digits than an int64 has do not occur (docs/service.md). */
const MOST_DIGITS = 20;

/**
 * SQL conditions, one for each length of an id, for the ids beyond `after` (empty: from the start) as far as
 * `reach` (null: to the end). The index of live conversations serves each of them.
 * @param parameters of the two bounds, such as `$2`
 */
export function sqlRanges(
  { direction, after, reach }: { direction: Direction; after: string; reach: string | null },
  parameters: { after: string; reach: string },
): string[] {
  const first = { id: after === '' ? null : after, compared: `${sqlBeyond(direction)} ${parameters.after}` };
  const last = { id: reach, compared: `${direction === 'asc' ? '<=' : '>='} ${parameters.reach}` };
  const [low, high] = direction === 'asc' ? [first, last] : [last, first];
  const [shortest, longest] = [low.id?.length ?? 1, high.id?.length ?? MOST_DIGITS];
  return Array.from({ length: Math.max(0, longest - shortest + 1) }, (_, index) => {
    const length = shortest + index;
    const from = length === low.id?.length ? ` AND id ${low.compared}` : '';
    const to = length === high.id?.length ? ` AND id ${high.compared}` : '';
    return `length(id) = ${length}${from}${to}`;
  });
}
