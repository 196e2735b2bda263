import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';

/** A daemon is stuck when no tick ends for this many ms. A tick takes milliseconds, or seconds at a lock. */
export const STUCK_MS = 3 * MINUTE;

/** The time since the last tick is checked once in this many ms. */
const POLL_MS = 10 * SECOND;

/**
 * Waits until the daemon no longer completes its ticks. A database that hangs without failing would
 * block it for ever, while its lease is still renewed.
 * @returns true if the daemon is stuck; false if the signal is aborted first
 */
export async function waitUntilStuck(
  daemon: { readonly lastTickAt: number },
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<boolean> {
  while (!signal.aborted) {
    if (clock.monotonic() - daemon.lastTickAt > STUCK_MS) return true;
    await clock.sleep(POLL_MS, signal).catch(() => undefined);
  }
  return false;
}
