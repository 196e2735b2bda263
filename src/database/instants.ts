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
