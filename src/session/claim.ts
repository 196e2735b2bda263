import { hostname } from 'node:os';
import { type Clock, SECOND } from '../core/clock.ts';
import { isMirrorError } from '../core/errors.ts';
import type { Claimant, Lease } from '../mirror/lease.ts';
import type { Writer } from '../mirror/mirror.ts';
import type { Session } from './session.ts';

/** The lease is renewed after this many ms, again and again. */
const HEARTBEAT_MS = 10 * SECOND;

/** Renews the lease until `stop`, even through hours without work. `lost` is aborted when another process takes it over. */
export function keepLease(lease: Lease, clock: Clock): { lost: AbortSignal; stop(): void } {
  const lost = new AbortController();
  const stopped = new AbortController();
  const renewals = async (): Promise<void> => {
    while (!lost.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, stopped.signal);
      await lease.renew().catch((error: unknown) => {
        // A database that is busy does not mean that the lease is lost: the next renewal or page will show it.
        if (isMirrorError(error, 'LEASE_LOST')) lost.abort(error);
      });
    }
  };
  // It can only fail by being stopped.
  renewals().catch(() => undefined);
  return { lost: lost.signal, stop: () => stopped.abort() };
}

/** True if this machine's process with this number still runs, even one that we may not signal. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** A claim on the mirror. */
export interface Claim {
  readonly mirror: Writer;
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** This process in the words of the lease. */
export function claimantOf(command: string, clock: Clock): Claimant {
  return { host: hostname(), pid: process.pid, command, now: clock.now, isAlive };
}

/** The claim of a lease, which it renews until it is released. */
export function claimOf(
  lease: Lease,
  { mirror, clock, log }: Pick<Session, 'mirror' | 'clock' | 'log'>,
  stop: AbortSignal,
): Claim {
  const kept = keepLease(lease, clock);
  let released = false;
  return {
    mirror: mirror.writer(lease),
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
