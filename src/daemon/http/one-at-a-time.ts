import { SECOND } from '../../core/clock.ts';
import { withTimeout } from './shared-read.ts';

/** The longest rest after a read, in ms. */
const LONGEST_REST_MS = SECOND;

/**
 * A queue for expensive reads. One runs at a time, and then the queue rests as long as the read took. A read
 * of SQLite blocks the process, and libuv accepts one connection each time that the event loop turns: without
 * the rest, a health check waits behind all connections that arrived before it.
 * @param patienceMs a caller waits at most this many ms of real time for its turn and its read
 */
export function oneAtATime(patienceMs: number) {
  let last = Promise.resolve();
  return {
    /**
     * The read does not run if its caller has left or has waited too long before its turn.
     * @throws MirrorError `DATABASE` if it takes too long
     */
    async next<Row>(closed: AbortSignal, read: () => Promise<Row[]>): Promise<Row[]> {
      const previous = last;
      const over = Promise.withResolvers<void>();
      last = over.promise;
      let isLate = false;
      const turn = (async (): Promise<Row[]> => {
        await previous;
        const since = performance.now();
        try {
          return closed.aborted || isLate ? [] : await read();
        } finally {
          setTimeout(over.resolve, Math.min(performance.now() - since, LONGEST_REST_MS)).unref();
        }
      })();
      try {
        return await withTimeout(patienceMs, turn);
      } catch (error) {
        isLate = true;
        throw error;
      }
    },
  };
}
