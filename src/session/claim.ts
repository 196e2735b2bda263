import { hostname } from 'node:os';
import type { Clock } from '../core/clock.ts';
import { isMirrorError } from '../core/errors.ts';
import type { Sql } from '../database/database.ts';
import type { Claimant, Lease } from '../mirror/lease.ts';
import { openStore, type Store } from '../mirror/mirror.ts';
import type { Session } from './session.ts';

const HEARTBEAT_MS = 10_000;

/** Renews the lease until `stop`, also through hours of waiting for budget. `lost` is aborted when another process has taken it over. */
export function keepLease(
  lease: Lease,
  { database, clock }: { database: Sql; clock: Clock },
): { lost: AbortSignal; stop(): void } {
  const lost = new AbortController();
  const stopped = new AbortController();
  const beat = async (): Promise<void> => {
    while (!lost.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, stopped.signal);
      await lease.renew(database).catch((error: unknown) => {
        // A database that is busy for a moment is no lost lease: the next beat, or the next page, will tell.
        if (isMirrorError(error, 'LEASE_LOST')) lost.abort(error);
      });
    }
  };
  // Its only way to fail is to be stopped.
  beat().catch(() => undefined);
  return { lost: lost.signal, stop: () => stopped.abort() };
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

export interface Claim {
  readonly store: Store;
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** This process, as the lease names it. */
export function claimantOf(command: string, clock: Clock): Claimant {
  return { host: hostname(), pid: process.pid, command, now: clock.now, isAlive };
}

export function claimOf(
  lease: Lease,
  { database, clock, log }: Pick<Session, 'database' | 'clock' | 'log'>,
  stop: AbortSignal,
): Claim {
  const kept = keepLease(lease, { database, clock });
  let released = false;
  return {
    store: openStore(database, lease),
    signal: AbortSignal.any([stop, kept.lost]),
    async release() {
      if (released) return;
      released = true;
      kept.stop();
      await lease.release().catch((error: unknown) => {
        if (!isMirrorError(error, 'DATABASE')) throw error;
        log.warn({ cause: error.message }, 'the lease cannot be given back; it runs out by itself');
      });
    },
  };
}
