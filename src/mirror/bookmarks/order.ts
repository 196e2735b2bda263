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

/** True if each id is beyond the one before it. */
export function isInOrder(direction: Direction, ids: readonly string[]): boolean {
  return ids.every((id, index) => {
    const before = ids[index - 1];
    return CANONICAL.test(id) && (before === undefined || isBeyond(direction, id, before));
  });
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
