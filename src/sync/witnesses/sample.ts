/** Its multiples, without their whole part, are spread evenly between 0 and 1. */
const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;

/**
 * Chooses up to `many` items, spread over all of them. The sweep's id moves the choice, so that each sweep
 * chooses others, and begins all at another one.
 */
export function spread<Item>(items: readonly Item[], many: number, sweepId: number): Item[] {
  const step = items.length / many;
  const turn = (sweepId * GOLDEN_RATIO) % 1;
  if (step <= 1) {
    const first = Math.floor(turn * items.length);
    return [...items.slice(first), ...items.slice(0, first)];
  }
  const shift = turn * step;
  const places = Array.from({ length: many }, (_, nth) => Math.floor(nth * step + shift));
  return places.flatMap((place) => items.slice(place, place + 1));
}
