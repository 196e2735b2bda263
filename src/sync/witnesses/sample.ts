import type { Suspect } from '../../mirror/items/suspects/suspects.ts';

/** Its multiples, without their whole part, are spread evenly between 0 and 1. */
export const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;

/** Suspects in the sample of a batch. */
export const SAMPLE = 5;

/**
 * Up to 100 conversations, users or tags of a batch are each asked for after its sample: a list may leave out
 * a few rows while many others are deleted. More would take too large a part of a day's budget.
 */
export const MOST_ASKED_AFTER_SAMPLE = 100;

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

/** The newest suspicion first: rows whose questions always fail must not end the questions for others. */
export function byNewest({ missingSince: a }: Suspect, { missingSince: b }: Suspect): number {
  return (b?.getTime() ?? Number.MAX_SAFE_INTEGER) - (a?.getTime() ?? Number.MAX_SAFE_INTEGER);
}

/** True if the sample of a batch decides for the others, because they are too many to be each asked for. */
export function decidesForOthers(due: readonly Suspect[]): boolean {
  return due.length > SAMPLE + MOST_ASKED_AFTER_SAMPLE;
}

/**
 * Chooses the sample of a batch, spread over the ids: suspects that may be condemned now, then others. The
 * sweep's id moves it, so that each sweep asks for other rows. Where the sample does not decide for the
 * others, the newest suspicions go first: older ones may wait for an answer that never comes.
 */
export function sampleOf(due: readonly Suspect[], suspects: readonly Suspect[], sweepId: number): Suspect[] {
  const decides = decidesForOthers(due);
  const [newest] = due.toSorted(byNewest);
  const first = decides ? due : due.filter((suspect) => newest && byNewest(suspect, newest) === 0);
  const sample: Suspect[] = [];
  for (const group of [first, due, suspects]) {
    const others = group.filter((suspect) => !sample.includes(suspect));
    sample.push(...spread(others, SAMPLE - sample.length, sweepId));
  }
  return sample;
}
