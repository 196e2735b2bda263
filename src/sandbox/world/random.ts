/** A stream of numbers in [0, 1), like `Math.random`, but the same for the same seed. */
export type Random = () => number;

/**
 * A stream for one purpose. Each purpose (data, events, latency …) has its own, so that traffic never alters the data's history.
 * The generator is mulberry32: 32 bits of state, good enough for made-up mail, and short enough to read.
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

/** An integer from 0 to `below - 1`; `skew` above 1 makes small ones likelier (2: the first quarter takes half of all draws). */
export function draw(random: Random, below: number, skew = 1): number {
  return Math.floor(below * random() ** skew);
}

/** One of `from`, the first ones likelier with `skew` above 1. @throws RangeError when there is nothing to pick from. */
export function pick<T>(random: Random, from: readonly T[], skew = 1): T {
  const picked = from[draw(random, from.length, skew)];
  if (picked === undefined) throw new RangeError('nothing to pick from');
  return picked;
}
