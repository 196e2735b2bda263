/** Returns the next number in [0, 1), like `Math.random`, but the same seed gives the same sequence. */
export type Random = () => number;

/**
 * Creates the random stream of one purpose. Each purpose (data, events, jitter …) has a separate stream, so
 * traffic never alters the history of the data. The generator is mulberry32: 32 bits of state, enough for
 * invented mail, and short.
 */
export function randomStream(seed: number, purpose: string): Random {
  let state = seed | 0;
  for (const letter of purpose) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Returns an integer from 0 to `below - 1`. A `skew` above 1 makes small integers likelier; with 2, half of
 * the draws fall into the first quarter.
 */
export function draw(random: Random, below: number, skew = 1): number {
  return Math.floor(below * random() ** skew);
}

/**
 * Returns one element; a `skew` above 1 makes the first ones likelier.
 * @throws RangeError if `from` is empty
 */
export function pick<T>(random: Random, from: readonly T[], skew = 1): T {
  const picked = from[draw(random, from.length, skew)];
  if (picked === undefined) throw new RangeError('cannot pick from an empty list');
  return picked;
}
