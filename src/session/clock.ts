import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
import type { Database } from '../database/database.ts';

/** Node's timers take no longer span; whoever sleeps longer looks again. */
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
    boot: () => ({ host, id, at: Date.now() - uptime() * 1000 }),
  };
}

/** Tells one run of the machine from the next. Where the system does not say, each process is a run of its own: it sees only jumps that it lives through. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return randomUUID();
  }
}

/** A difference so small is none: clocks that are kept by NTP are nearer, and the way to the server takes time. */
const TOLERANCE_MS = 100;

/**
 * The clock by which everybody who uses one mirror reckons its ledger and its lease: on a server that server's, since hosts disagree about the time;
 * otherwise the machine's own.
 * @returns `look` finds out again how far the machine's clock is off, which somebody may have set
 */
export async function sharedClock(
  database: Pick<Database, 'serverTime'>,
  machine: Clock,
): Promise<{ clock: Clock; look(): Promise<void> }> {
  let offset = 0;
  async function look(): Promise<void> {
    const before = machine.now();
    const server = await database.serverTime();
    const after = machine.now();
    if (server === null) return;
    const found = Math.round(server - (before + after) / 2);
    if (Math.abs(found - offset) > TOLERANCE_MS + Math.abs(after - before)) offset = found;
  }
  await look();
  const clock: Clock = {
    ...machine,
    now: () => machine.now() + offset,
    boot: () => {
      const { host, id, at } = machine.boot();
      return { host, id, at: at + offset };
    },
  };
  return { clock, look };
}
