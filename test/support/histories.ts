import * as fc from 'fast-check';
import { returnMirrors } from './postgres-pool.ts';

/** The milliseconds that one of the slowest runs takes on a busy machine. */
const RUN_MS = 30_000;
/** The least milliseconds that fast-check has to shrink a failure. */
const SHRINKING_MS = 15_000;
/** `npm run soak` runs a property this many times as often, unless the property says otherwise. */
const SOAK_FACTOR = 10;

export const IN_SOAK = process.env['SOAK'] === '1';

/** The size of a simulation: `short` in `npm test`, `long` in `npm run soak`. */
export function sized(short: number, long: number): number {
  return IN_SOAK ? long : short;
}

/** The cases of a long test: `npm test` has the first `some` of them, `npm run soak` all. */
export function someOf<Case>(cases: readonly Case[], some: number): readonly Case[] {
  return IN_SOAK ? cases : cases.slice(0, some);
}

/**
 * Settings for a property with long runs. Fast-check stops before the test times out.
 * It then reports the seed and the smallest failing case so far, which a time-out would hide.
 * The environment variable HISTORIES sets the number of runs of each property.
 * @param runs the number of runs in `npm test`
 * @param soakRuns the number of runs in `npm run soak`
 * @returns fast-check's parameters, and the time-out of the test
 */
export function histories(
  runs: number,
  soakRuns = SOAK_FACTOR * runs,
): {
  parameters: { numRuns: number; plugins: fc.Plugin<unknown>[] };
  timeoutMs: number;
} {
  const numRuns = Number(process.env['HISTORIES'] ?? sized(runs, soakRuns));
  const limit = numRuns * RUN_MS + SHRINKING_MS;
  return {
    parameters: {
      numRuns,
      plugins: [
        fc.interruptAfterTimeLimit(limit, { failOnInterrupt: true }),
        // Otherwise each history would make another copy of the template on PostgreSQL.
        fc.afterEach(returnMirrors),
      ],
    },
    timeoutMs: limit + SHRINKING_MS,
  };
}
