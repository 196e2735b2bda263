import * as fc from 'fast-check';

/** The milliseconds that one of the slowest runs takes on a busy machine. */
const RUN_MS = 4000;
/** The least milliseconds that fast-check has to shrink a failure. */
const SHRINKING_MS = 15_000;

/**
 * Settings for a property with long runs. Fast-check stops before the test times out.
 * It then reports the seed and the smallest failing case so far, which a time-out would hide.
 * @param runs the number of runs, unless the environment variable HISTORIES sets it
 * @returns fast-check's parameters, and the time-out of the test
 */
export function histories(runs: number): {
  parameters: { numRuns: number; plugins: fc.Plugin<unknown>[] };
  timeoutMs: number;
} {
  const numRuns = Number(process.env['HISTORIES'] ?? runs);
  const limit = numRuns * RUN_MS + SHRINKING_MS;
  return {
    parameters: { numRuns, plugins: [fc.interruptAfterTimeLimit(limit, { failOnInterrupt: true })] },
    timeoutMs: limit + SHRINKING_MS,
  };
}
