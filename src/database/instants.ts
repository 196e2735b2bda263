/** Epoch milliseconds as the text form of every stored instant: ISO 8601, UTC, with milliseconds and `Z`. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** As {@link iso}; null stays null. */
export function isoOrNull(epochMs: number | null): string | null {
  return epochMs === null ? null : iso(epochMs);
}
