import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, SECOND } from '../core/clock.ts';
import type { Mirror } from '../mirror/mirror.ts';

/** A Node timer runs for at most this many ms. A longer sleep ends early, and its caller sleeps again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. */
export function systemClock(): Clock {
  const host = hostname();
  const id = bootId();
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
    boot: () => ({ host, id, at: Date.now() - uptime() * SECOND }),
  };
}

/**
 * An id of this run of the machine. If the system provides none, the process creates one and notices only
 * clock changes while it runs.
 */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return randomUUID();
  }
}

/** A smaller change of the measured offset, in ms, is ignored as noise: NTP keeps clocks closer than this. */
const TOLERANCE_MS = 100;

/**
 * The clock that all processes of a mirror share for its ledger and its lease: the database server's, because
 * hosts disagree about the time. For a file it is the machine's.
 * @returns `adjust` measures the difference between the machine's clock and the server's again
 */
export async function sharedClock(
  mirror: Pick<Mirror, 'serverTime'>,
  machine: Clock,
): Promise<{ clock: Clock; adjust(): Promise<void> }> {
  let offset = 0;
  async function adjust(): Promise<void> {
    const before = machine.now();
    const server = await mirror.serverTime();
    const after = machine.now();
    if (server === null) return;
    const found = Math.round(server - (before + after) / 2);
    if (Math.abs(found - offset) > TOLERANCE_MS + Math.abs(after - before)) offset = found;
  }
  await adjust();
  const clock: Clock = {
    ...machine,
    now: () => machine.now() + offset,
    boot: () => {
      const { host, id, at } = machine.boot();
      return { host, id, at: at + offset };
    },
  };
  return { clock, adjust };
}
