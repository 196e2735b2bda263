import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { type Boot, type Clock, SECOND } from '../core/clock.ts';
import type { Mirror } from '../mirror/mirror.ts';

/** A Node timer runs for at most this many ms. A longer sleep ends early, and its caller sleeps again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. */
export function systemClock(): Clock {
  const id = bootId();
  const boot = (): Boot => ({ id, at: Date.now() - uptime() * SECOND });
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      try {
        await wait(
          Math.min(Math.max(0, ms), LONGEST_TIMER_MS),
          undefined,
          signal === undefined ? {} : { signal },
        );
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      }
    },
    boot,
    ledgerTime: () => Promise.resolve({ now: Date.now(), boot: boot() }),
  };
}

/** The id of this run of the machine, the same in all its containers; null if the system provides none. */
export function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

/** A smaller change of the measured offset, in ms, is ignored as noise. */
const TOLERANCE_MS = 100;

/**
 * The clock that all processes of a mirror share for its ledger and its lease: the database server's, because
 * hosts disagree about the time. Between two readings it runs with the machine's uptime, which no setting of
 * the machine's wall clock changes. For a file it is the machine's clock.
 * @returns `adjust` reads the server's clock again
 */
export async function sharedClock(
  mirror: Pick<Mirror, 'serverTime'>,
  machine: Clock,
): Promise<{ clock: Clock; adjust(): Promise<void> }> {
  const upFor = (): number => machine.now() - (machine.boot()?.at ?? 0);
  /** The server's time at the machine's boot. */
  let offset: number | null = null;
  async function read(): Promise<number | null> {
    const before = upFor();
    const server = await mirror.serverTime();
    const after = upFor();
    if (server === null) return null;
    const found = Math.round(server - (before + after) / 2);
    if (offset === null || Math.abs(found - offset) > TOLERANCE_MS + after - before) offset = found;
    return Math.round(server);
  }
  const isServer = (await read()) !== null;
  const adjust = async (): Promise<void> => void (await read());
  if (!isServer) return { clock: machine, adjust };
  const now = (): number => Math.round(upFor() + (offset ?? 0));
  const ledgerTime = async () => ({ now: (await read()) ?? now(), boot: null });
  return { clock: { ...machine, now, boot: () => null, ledgerTime }, adjust };
}
