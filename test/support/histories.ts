import * as fc from 'fast-check';

/** What one of the slowest runs takes on a busy machine. */
const RUN_MS = 4000;
/** A failure is made smaller for as long at least. */
const SHRINKING_MS = 15_000;

/**
 * How a property whose runs take long is held. Fast-check is interrupted before the test is: it then tells the seed and the smallest case so far,
 * which a time-out would hide.
 * @param runs how many, where the environment's HISTORIES does not say it
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
