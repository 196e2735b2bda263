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

/**
 * SQL conditions, at most three, for the ids beyond `after` (empty: from the start) as far as `reach` (null:
 * to the end): those as long as a bound, and those of the lengths between. On SQLite the index of live
 * conversations serves each of them.
 * @param parameters of the two bounds, such as `$2`
 */
export function sqlRanges(
  { direction, after, reach }: { direction: Direction; after: string; reach: string | null },
  parameters: { after: string; reach: string },
): string[] {
  const first = {
    length: after === '' ? null : after.length,
    compared: `id ${sqlBeyond(direction)} ${parameters.after}`,
  };
  const last = {
    length: reach?.length ?? null,
    compared: `id ${direction === 'asc' ? '<=' : '>='} ${parameters.reach}`,
  };
  const [low, high] = direction === 'asc' ? [first, last] : [last, first];
  if (low.length !== null && low.length === high.length)
    return [`length(id) = ${low.length} AND ${low.compared} AND ${high.compared}`];
  const [shortest, longest] = [low.length ?? 0, high.length ?? Number.POSITIVE_INFINITY];
  if (shortest > longest) return [];
  const below = high.length === null ? '' : ` AND length(id) < ${high.length}`;
  return [
    ...(low.length === null ? [] : [`length(id) = ${low.length} AND ${low.compared}`]),
    ...(longest - shortest > 1 ? [`length(id) > ${shortest}${below}`] : []),
    ...(high.length === null ? [] : [`length(id) = ${high.length} AND ${high.compared}`]),
  ];
}
