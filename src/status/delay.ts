/** The value below which a share (0 to 1) of ascending numbers lies; null if there are none. */
export function quantileOf(ascending: readonly number[], share: number): number | null {
  return ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))] ?? null;
}
