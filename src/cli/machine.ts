import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';

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

/** True where a process of this machine still runs, ours to signal or not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
