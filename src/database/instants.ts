/** Epoch milliseconds as the text form in which every instant stands in the mirror: ISO 8601, UTC, milliseconds. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** As {@link iso}; null stays null. */
export function isoOrNull(epochMs: number | null): string | null {
  return epochMs === null ? null : iso(epochMs);
}
