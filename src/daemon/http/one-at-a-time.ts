import { withTimeout } from './shared-read.ts';

/**
 * A queue for expensive reads: one runs at a time, so that a health check waits for at most one of them.
 * @param patienceMs a caller waits at most this many ms of real time for its turn and its read
 */
export function oneAtATime(patienceMs: number) {
  let last: Promise<unknown> = Promise.resolve();
  return {
    /**
     * The read does not run if its caller has left or has waited too long before its turn.
     * @throws MirrorError `DATABASE` if it takes too long
     */
    async next<Row>(closed: AbortSignal, read: () => Promise<Row[]>): Promise<Row[]> {
      let isLate = false;
      const previous = last;
      const turn = (async (): Promise<Row[]> => {
        await previous;
        // Requests that arrived meanwhile, such as health checks, come first.
        await new Promise((resolve) => setImmediate(resolve));
        return closed.aborted || isLate ? [] : await read();
      })();
      last = turn.catch(() => undefined);
      try {
        return await withTimeout(patienceMs, turn);
      } catch (error) {
        isLate = true;
        throw error;
      }
    },
  };
}
