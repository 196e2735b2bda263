/**
 * The zone at the end of every stored instant. Prisma's SQLite adapter sends instants in this form, and
 * SQLite compares them as text (docs/decisions/0005).
 */
export const UTC = '+00:00';

/**
 * An instant (epoch ms or a date) in the form in which it is stored and compared: ISO 8601, UTC, with
 * milliseconds and `+00:00`. JSON, messages and the values of `changes` use `toISOString` and its `Z`.
 */
export function iso(at: number | Date): string {
  return `${new Date(at).toISOString().slice(0, -1)}${UTC}`;
}

/** As {@link iso}; null stays null. */
export function isoOrNull(at: number | Date | null): string | null {
  return at === null ? null : iso(at);
}

/** Instants (epoch ms) that leave room for arithmetic, within the years of four digits. */
const EARLIEST = Date.UTC(1000, 0);
const LATEST = Date.UTC(9000, 0);

/**
 * Reads a stored instant. PostgreSQL also stores infinities, years of more than four digits and years before
 * Christ, which are no dates in JavaScript: the program handles them as instants far ahead or long ago.
 */
export function readInstant(stored: unknown): Date {
  const text = String(stored);
  if (/^-infinity|BC$/.test(text)) return new Date(EARLIEST);
  if (/^(?:infinity|\d{5,}-)/.test(text)) return new Date(LATEST);
  return new Date(stored as string);
}
