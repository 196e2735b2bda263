import { randomUUID } from 'node:crypto';
import { SECOND } from '../core/clock.ts';
import { MirrorError } from '../core/errors.ts';
import { duration } from '../core/humanize.ts';
import { type Database, named, type Sql } from '../database/database.ts';
import { iso } from '../database/instants.ts';
import { refuseMigrated } from '../database/migrations/shipped.ts';
import { WriterEpoch } from './history/epochs.ts';

/**
 * A lease is valid for this many ms after a renewal. A stand-by polls every second, so it takes over within
 * 30 s of the last renewal.
 */
export const LEASE_MS = 25 * SECOND;
const WRITER = 'writer';

/** Holders that this process does not use, and whose rows may still be in a database that failed. */
const unused = new Set<string>();

export interface Lease {
  readonly holder: string;
  /**
   * Renews the lease.
   * @param tx a new transaction: the renewal takes the write lock and proves that the lease is still held
   * @throws MirrorError `LEASE_LOST` if another process has taken over
   */
  renew(tx?: Sql): Promise<void>;
  release(): Promise<void>;
}

/** A transaction of the lease's holder, with the epoch of the changes that it writes. */
export interface FencedSql extends Sql {
  readonly epoch: WriterEpoch;
}

/** The database for the lease's holder. */
export interface FencedDatabase {
  readonly database: Database;
  /** Runs `work` in one transaction, which begins by renewing the lease. @throws MirrorError `LEASE_LOST` */
  write<Result>(work: (tx: FencedSql) => Promise<Result>): Promise<Result>;
}

export function fencedBy(lease: Lease, database: Database): FencedDatabase {
  const epoch = new WriterEpoch();
  return {
    database,
    write: (work) =>
      database.transaction(async (tx) => {
        await lease.renew(tx);
        return await work({ ...tx, epoch });
      }),
  };
}

/** Where and when a process began. It tells processes apart whose host name and process id are the same. */
export interface ProcessOrigin {
  /** The boot and the process namespace in which its id counts: equal for processes that see each other. */
  readonly place: string;
  /** Its start, in ticks since the boot. */
  readonly started: string;
}

/** The process that holds the lease. */
export interface LeaseHolder {
  /** Its random name. */
  readonly holder: string;
  readonly host: string;
  readonly pid: number;
  /** Null where its system does not tell. */
  readonly origin: ProcessOrigin | null;
  readonly command: string;
  readonly acquiredAt: Date;
  readonly heartbeatAt: Date;
  readonly expiresAt: Date;
}

/** The process that claims the lease. */
export interface Claimant {
  readonly host: string;
  readonly pid: number;
  /** Absent where the system does not tell. */
  readonly origin?: ProcessOrigin | undefined;
  readonly command: string;
  /** Epoch ms. */
  readonly now: () => number;
  /** True if this host's process with this number, and this start if it is known, still runs. */
  readonly isAlive: (pid: number, started?: string) => boolean;
  /** A holder whose lease it takes although it is valid; absent or null: none. */
  readonly replaces?: string | null;
}

/** Reads the lease's holder, which may be dead; null if the lease is free. */
export async function readLease(sql: Sql): Promise<LeaseHolder | null> {
  const [row] = await sql.query<{
    holder: string;
    host: string;
    pid: number;
    command: string;
    acquired_at: Date;
    heartbeat_at: Date;
    expires_at: Date;
  }>(
    `SELECT holder, host, pid, command, acquired_at, heartbeat_at, expires_at FROM leases WHERE name = $1`,
    WRITER,
  );
  if (row === undefined) return null;
  const { holder, host, pid, command } = row;
  return {
    holder,
    host,
    pid,
    origin: originIn(holder),
    command,
    acquiredAt: row.acquired_at,
    heartbeatAt: row.heartbeat_at,
    expiresAt: row.expires_at,
  };
}

/** A holder's name: a random id, and the origin of its process. */
function newHolder({ origin }: Claimant): string {
  return [randomUUID(), ...(origin === undefined ? [] : [origin.place, origin.started])].join('/');
}

function originIn(holder: string): ProcessOrigin | null {
  const [, place, started] = holder.split('/');
  return place === undefined || started === undefined ? null : { place, started };
}

/**
 * Claims the mirror for writing. Takes over a lease at once if it has expired, its holder is a dead process
 * of this host, or the claimant replaces it.
 * @throws MirrorError `LEASE_HELD`, which names the holder; `DATABASE` if a newer program has migrated the
 *   mirror since this process opened it
 */
export async function acquireLease(database: Database, claimant: Claimant): Promise<Lease> {
  const holder = newHolder(claimant);
  const now = claimant.now();
  const held = await readLease(database);
  const isFree = held === null || unused.has(held.holder) || held.holder === claimant.replaces;
  if (!isFree && isLeaseValid(held, claimant, now)) throw leaseHeld(held, now);
  // The statement names the holder that it replaces: of several processes that see a dead holder, one wins.
  const [claim, ...values] = named(
    `INSERT INTO leases (name, holder, host, pid, command, acquired_at, heartbeat_at, expires_at)
     VALUES (:name, :holder, :host, :pid, :command, :now, :now, :expires)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, host = excluded.host, pid = excluded.pid,
       command = excluded.command, acquired_at = excluded.acquired_at, heartbeat_at = excluded.heartbeat_at,
       expires_at = excluded.expires_at
     WHERE leases.holder = :replaced`,
    {
      name: WRITER,
      holder,
      host: claimant.host,
      pid: claimant.pid,
      command: claimant.command,
      now: iso(now),
      expires: iso(now + LEASE_MS),
      replaced: held?.holder ?? '',
    },
  );
  // A connection that breaks may hide that the claim succeeded.
  unused.add(holder);
  const claimed = await database.execute(claim, ...values);
  unused.delete(holder);
  if (claimed === 0) {
    const winner = await readLease(database);
    if (winner !== null) throw leaseHeld(winner, now);
    return await acquireLease(database, claimant);
  }
  const lease = leaseOf(database, holder, claimant);
  // A later migration takes the lease away.
  await refuseMigrated(database).catch(async (error: unknown) => {
    await lease.release();
    throw error;
  });
  return lease;
}

function leaseOf(database: Database, holder: string, claimant: Claimant): Lease {
  return {
    holder,
    async renew(tx = database) {
      const at = claimant.now();
      const renewed = await tx.execute(
        `UPDATE leases SET heartbeat_at = $2, expires_at = $3 WHERE name = $4 AND holder = $1`,
        holder,
        iso(at),
        iso(at + LEASE_MS),
        WRITER,
      );
      if (renewed === 0) {
        throw new MirrorError(
          'LEASE_LOST',
          'Another inbox-mirror has taken over this mirror; this one stops. ' +
            'Every page that it applied is kept.',
        );
      }
    },
    async release() {
      unused.add(holder);
      await database.execute(`DELETE FROM leases WHERE name = $1 AND holder = $2`, WRITER, holder);
      unused.delete(holder);
    },
  };
}

/** True if the lease's holder may still write at `now`. */
export function isLeaseValid(
  held: LeaseHolder,
  observer: Pick<Claimant, 'host' | 'pid' | 'origin' | 'isAlive'>,
  now: number,
): boolean {
  const expires = held.expiresAt.getTime();
  // An expiry far in the future comes from a clock that was ahead.
  return expires >= now && expires <= now + 2 * LEASE_MS && mayBeAlive(held, observer);
}

/** False if the lease's holder has ended: a host sees only its own processes. */
export function mayBeAlive(
  held: LeaseHolder,
  { host, pid, origin, isAlive }: Pick<Claimant, 'host' | 'pid' | 'origin' | 'isAlive'>,
): boolean {
  if (held.host !== host) return true;
  // The process ids of another container or boot mean nothing here: only the expiry frees its lease.
  if (held.origin !== null && origin !== undefined && held.origin.place !== origin.place) return true;
  // Our pid with another start, or an unknown one, belongs to an earlier process with the same number. With
  // our start, it belongs to another thread or session of this process.
  if (held.pid === pid && (held.origin === null || held.origin.started !== origin?.started)) return false;
  return isAlive(held.pid, held.origin?.started);
}

function leaseHeld(held: LeaseHolder, now: number): MirrorError {
  return new MirrorError(
    'LEASE_HELD',
    `Another inbox-mirror is writing to this mirror: \`${held.command}\`, process ${held.pid} ` +
      `on ${held.host}, since ${held.acquiredAt.toISOString()}, ` +
      `last heard of ${duration(now - held.heartbeatAt.getTime())} ago. ` +
      `Wait for it or stop it; \`inbox-mirror status\` shows its progress.`,
  );
}
