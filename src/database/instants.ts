/**
 * An instant (epoch ms or a date) as the text form of every stored instant: ISO 8601, UTC, with milliseconds
 * and `Z`.
 */
export function iso(at: number | Date): string {
  return new Date(at).toISOString();
}

/** As {@link iso}; null stays null. */
export function isoOrNull(at: number | Date | null): string | null {
  return at === null ? null : iso(at);
}
