import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';

/** A daemon is stuck when no tick ends for this many ms. A tick takes milliseconds, or seconds at a lock. */
export const STUCK_MS = 3 * MINUTE;

/** The time since the last tick is checked once in this many ms. */
const POLL_MS = 10 * SECOND;

/** After a longer time than this between two checks (ms), the process or its machine was stopped. */
const LONGEST_POLL_MS = 2 * POLL_MS;

/**
 * Waits until the daemon no longer completes its ticks. A database that hangs without failing would
 * block it for ever, while its lease is still renewed. A time in which the process was stopped does not
 * count.
 * @returns true if the daemon is stuck; false if the signal is aborted first
 */
export async function waitUntilStuck(
  daemon: { readonly lastTickAt: number },
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<boolean> {
  let checkedAt = clock.monotonic();
  let runsSince = checkedAt;
  while (!signal.aborted) {
    const now = clock.monotonic();
    // This check can come before the first tick after a stop ends.
    if (now - checkedAt > LONGEST_POLL_MS) runsSince = now;
    checkedAt = now;
    if (now - Math.max(runsSince, daemon.lastTickAt) > STUCK_MS) return true;
    await clock.sleep(POLL_MS, signal).catch(() => undefined);
  }
  return false;
}
