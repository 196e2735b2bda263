import type { Clock } from '../../core/clock.ts';

/** A look takes milliseconds, and every wait for a lock in it ends within seconds. */
export const STUCK_MS = 180_000;
const POLL_MS = 10_000;

/**
 * Waits until a daemon does not get through a look any more: a database that hangs and does not even fail would keep it so for ever, with its lease
 * renewed all the while.
 * @returns whether it is so; false where the signal came first
 */
export async function becomesStuck(
  daemon: { readonly lastTickAt: number },
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<boolean> {
  while (!signal.aborted) {
    if (clock.monotonic() - daemon.lastTickAt > STUCK_MS) return true;
    await clock.sleep(POLL_MS, signal).catch(() => undefined);
  }
  return false;
}
