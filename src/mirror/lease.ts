import { randomUUID } from 'node:crypto';
import { MirrorError } from '../core/errors.ts';
import { duration } from '../core/humanize.ts';
import type { Database, Sql } from '../database/database.ts';
import { iso } from '../database/instants.ts';

/** A lease whose holder does not renew it for so long has run out: a stand-by that looks every second takes over within 30 s of a death. */
export const LEASE_MS = 25_000;
const WRITER = 'writer';

/** Proves, inside a transaction, that this process still holds the lease; being a write, it also takes the database's write lock first. */
export type Fence = (tx: Sql) => Promise<void>;

export interface Lease {
  readonly holder: string;
  /** Renews the lease inside a transaction. @throws MirrorError `LEASE_LOST` where another process has taken it over */
  renew(sql: Sql): Promise<void>;
  release(): Promise<void>;
}

/** Who holds the mirror. */
export interface LeaseHolder {
  readonly host: string;
  readonly pid: number;
  readonly command: string;
  readonly acquiredAt: Date;
  readonly heartbeatAt: Date;
  readonly expiresAt: Date;
}

export interface Claimant {
  readonly host: string;
  readonly pid: number;
  readonly command: string;
  readonly now: () => number;
  /** Whether a process of this host still runs. */
  readonly isAlive: (pid: number) => boolean;
}

/** The lease's present holder, dead or alive; null where nobody holds it. */
export async function readLease(sql: Sql): Promise<(LeaseHolder & { holder: string }) | null> {
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
    command,
    acquiredAt: row.acquired_at,
    heartbeatAt: row.heartbeat_at,
    expiresAt: row.expires_at,
  };
}

/**
 * Claims the mirror for writing. A lease whose holder is a dead process of this host, or has run out, is taken over at once.
 * @throws MirrorError `LEASE_HELD` that names the holder
 */
export async function acquireLease(database: Database, claimant: Claimant): Promise<Lease> {
  const holder = randomUUID();
  const now = claimant.now();
  const held = await readLease(database);
  if (held !== null && isValid(held, claimant, now)) throw leaseHeld(held, now);
  // Of several that see the same dead holder, one wins: the statement names the holder that it replaces.
  const won = await database.execute(
    `INSERT INTO leases (name, holder, host, pid, command, acquired_at, heartbeat_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $6, $7)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, host = excluded.host, pid = excluded.pid, command = excluded.command,
       acquired_at = excluded.acquired_at, heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at
     WHERE leases.holder = $8`,
    WRITER,
    holder,
    claimant.host,
    claimant.pid,
    claimant.command,
    iso(now),
    iso(now + LEASE_MS),
    held?.holder ?? '',
  );
  if (won === 0) {
    const winner = await readLease(database);
    if (winner !== null) throw leaseHeld(winner, now);
    return await acquireLease(database, claimant);
  }
  return {
    holder,
    async renew(sql) {
      const at = claimant.now();
      const renewed = await sql.execute(
        `UPDATE leases SET heartbeat_at = $2, expires_at = $3 WHERE name = $4 AND holder = $1`,
        holder,
        iso(at),
        iso(at + LEASE_MS),
        WRITER,
      );
      if (renewed === 0) {
        throw new MirrorError(
          'LEASE_LOST',
          'Another inbox-mirror has taken over this mirror; this one stops. What it had applied is kept.',
        );
      }
    },
    async release() {
      await database.execute(`DELETE FROM leases WHERE name = $1 AND holder = $2`, WRITER, holder);
    },
  };
}

/** True where the holder may still write. */
export function isValid(
  held: LeaseHolder,
  { host, pid, isAlive }: Pick<Claimant, 'host' | 'pid' | 'isAlive'>,
  now: number,
): boolean {
  const expires = held.expiresAt.getTime();
  // A far-off end is the work of a clock that was ahead.
  if (expires < now || expires > now + 2 * LEASE_MS) return false;
  // Our own pid under another holder is an earlier process whose number we were given.
  return held.host !== host || (held.pid !== pid && isAlive(held.pid));
}

function leaseHeld(held: LeaseHolder, now: number): MirrorError {
  return new MirrorError(
    'LEASE_HELD',
    `Another inbox-mirror is writing to this mirror: \`${held.command}\`, process ${held.pid} on ${held.host}, since ${held.acquiredAt.toISOString()}, ` +
      `last heard of ${duration(now - held.heartbeatAt.getTime())} ago. Wait for it or stop it; \`inbox-mirror status\` shows its progress.`,
  );
}
