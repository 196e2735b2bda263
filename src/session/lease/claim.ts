import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { type Clock, SECOND } from '../../core/clock.ts';
import { codeOf, isMirrorError } from '../../core/errors.ts';
import type { Claimant, Lease, ProcessOrigin } from '../../mirror/lease.ts';
import type { Mirror, Writer } from '../../mirror/mirror.ts';
import { bootId } from '../clock.ts';
import type { Log } from '../log.ts';

/** Milliseconds from one renewal of the lease to the next. */
const HEARTBEAT_MS = 10 * SECOND;

/**
 * Renews the lease until `stop` is called, also while there is no work. `lost` is aborted when another
 * process takes it over.
 */
export function keepLease(lease: Lease, clock: Clock): { lost: AbortSignal; stop(): void } {
  const lost = new AbortController();
  const stopped = new AbortController();
  const renewals = async (): Promise<void> => {
    while (!lost.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, stopped.signal);
      await lease.renew().catch((error: unknown) => {
        // A busy database does not prove that the lease is lost: the next renewal or page finds out.
        if (isMirrorError(error, 'LEASE_LOST')) lost.abort(error);
      });
    }
  };
  // It rejects only when it is stopped.
  renewals().catch(() => undefined);
  return { lost: lost.signal, stop: () => stopped.abort() };
}

/** True if a process with this id, and this start if given, runs here, even one of another user. */
function isAlive(pid: number, started?: string): boolean {
  const itsStart = started === undefined ? null : startOf(pid);
  if (itsStart !== null && itsStart !== started) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** The start of a process in ticks since the boot; null if it does not run, or the system is not Linux. */
function startOf(pid: number): string | null {
  const stat = readOrNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The name of the program, in parentheses, may contain spaces; the start is the 20th field after it.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

/** This process's origin; undefined if the system is not Linux. */
function ownOrigin(): ProcessOrigin | undefined {
  const boot = bootId();
  const namespace = readOrNull(() => readlinkSync('/proc/self/ns/pid'));
  const started = startOf(process.pid);
  if (boot === null || namespace === null || started === null) return undefined;
  return { place: `${boot} ${namespace}`, started };
}

function readOrNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** The right to write to the mirror. `signal` is aborted when the lease is lost or the command must stop. */
export interface Claim {
  readonly mirror: Writer;
  readonly signal: AbortSignal;
  /** True if it was taken from a daemon that still runs (`replaceableDaemon`). */
  readonly hasReplaced: boolean;
  release(): Promise<void>;
}

/** This process, as a lease names its holder. */
export function thisProcess(): Pick<Claimant, 'host' | 'pid' | 'origin' | 'isAlive'> {
  return { host: hostname(), pid: process.pid, origin: ownOrigin(), isAlive };
}

/**
 * This process as a claimant of the lease.
 * @param replaces a holder whose lease it takes although it is valid; null: none
 */
export function claimantOf(command: string, clock: Clock, replaces: string | null): Claimant {
  return { ...thisProcess(), command, now: clock.now, replaces };
}

interface Claimed {
  readonly mirror: Pick<Mirror, 'writer'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly hasReplaced: boolean;
}

/** The claim that a held lease gives. It renews the lease until it is released. */
export function claimOf(
  lease: Lease,
  { mirror, clock, log, hasReplaced }: Claimed,
  stop: AbortSignal,
): Claim {
  const renewal = keepLease(lease, clock);
  let released = false;
  return {
    mirror: mirror.writer(lease),
    signal: AbortSignal.any([stop, renewal.lost]),
    hasReplaced,
    async release() {
      if (released) return;
      released = true;
      renewal.stop();
      await lease.release().catch((error: unknown) => {
        if (!isMirrorError(error, 'DATABASE', 'STATEMENT_REFUSED')) throw error;
        log.warn({ cause: error.message }, 'cannot release the lease; it expires by itself');
      });
    },
  };
}
