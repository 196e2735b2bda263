import { type Clock, SECOND } from '../core/clock.ts';
import { EXIT } from '../core/errors.ts';
import type { Session } from '../session/session.ts';
import type { Io } from '../session/terminal.ts';

// `cli/main.ts` catches SIGTERM and Ctrl-C; a second one exits at once. When the daemon stops, `serve` calls
// `finishWork`, and `standby.ts` then releases the lease. After a signal the session closes, and the process
// exits with 0. After the loss of the lease it stands by. After the loss of the mirror's file, or after an
// unknown error, it exits with an error.

/** At a stop, a webhook delivery under way is cut off after this many ms. */
const DELIVERY_GRACE_MS = 3 * SECOND;

/** At a stop, the pages under way may take this many ms to be applied. */
const PAGE_GRACE_MS = 5 * SECOND;

/** A stop takes at most this many ms. If the database hangs, the lease stays and expires by itself. */
const LONGEST_STOP_MS = 9 * SECOND;

/**
 * Waits until the work under way has ended, for as long as a stop allows. The caller releases the lease only
 * afterwards: without it the pages under way could not be applied.
 * @returns false if the work has not ended in time
 */
export async function finishWork(
  clock: Clock,
  { work, cutDelivery }: { work: Promise<unknown>; cutDelivery: AbortController },
): Promise<boolean> {
  const finished = new AbortController();
  const grace = clock.sleep(PAGE_GRACE_MS, finished.signal).then(
    () => false,
    () => true,
  );
  void clock.sleep(DELIVERY_GRACE_MS, finished.signal).then(
    () => cutDelivery.abort(),
    () => undefined,
  );
  const isFinished = await Promise.race([work.then(() => true), grace]);
  finished.abort();
  return isFinished;
}

/** Ends the process `LONGEST_STOP_MS` after the request to stop, should the database hang. */
export function limitStopTime({ signal }: Io, { log }: Session): void {
  const end = (): void => {
    log.warn('the database does not answer; exiting without closing it');
    process.exit(EXIT.done);
  };
  signal.addEventListener('abort', () => void setTimeout(end, LONGEST_STOP_MS).unref());
}
