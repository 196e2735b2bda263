import { DAY, HOUR } from '../../core/clock.ts';
import type { Refusal } from '../../core/ledger.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';

// `gate_state` has room for one refused key, which shuts the gate. `leases` has a row for each key on each
// host: hosts that share a mirror may use several keys, or reach the service by several proxies.

/** A command of cron sends no key that was refused less than this many ms ago, on any host. */
const RETRY_MS = HOUR;

/** A host that was refused lets another one go first for this many ms: until the next daily run, if late. */
const YIELD_MS = DAY + HOUR;

/** SQL that finds a row if the key of `:access` was refused less than an hour before `:now`. */
export const REFUSED_LATELY = `SELECT 1 FROM leases
  WHERE holder = :access AND expires_at > :now AND expires_at <= :refusedEnds`;

/** The value of `:refusedEnds` at `now` (epoch ms). Another clock has written a refusal that ends later. */
export function refusedEnds(now: number): string {
  return iso(now + RETRY_MS);
}

/** Records that the service refused the key of an access on a host. */
export async function recordRefusal(tx: Sql, access: string, host: string, now: number): Promise<void> {
  await tx.execute(`DELETE FROM leases WHERE name LIKE 'key-%' AND acquired_at <= $1`, iso(now - YIELD_MS));
  const name = `key-refused ${host} ${access}`;
  await writeLease(tx, { name, holder: access, host, now, ends: now + RETRY_MS });
}

/** Forgets the refusals of an access on all hosts. */
export async function forgetRefusals(tx: Sql, access: string): Promise<void> {
  await tx.execute(`DELETE FROM leases WHERE holder = $1 OR name = $2`, access, waitName(access));
}

/** Forgets the refusals of all keys. */
export async function forgetAllRefusals(tx: Sql): Promise<void> {
  await tx.execute(`DELETE FROM leases WHERE name LIKE 'key-%'`);
}

/** The last refusal of an access; null if none is stored. */
export async function lastRefusal(sql: Sql, access: string): Promise<Refusal | null> {
  return (await refusalsOf(sql, access))[0] ?? null;
}

/**
 * Decides whether a command of cron on this host may send a refused key again. A host that has to wait, and
 * on which the key was not refused, goes before those on which it was. They would keep it waiting for ever.
 */
export async function mayRetry(tx: Sql, access: string, host: string, now: number): Promise<boolean> {
  const refusals = await refusalsOf(tx, access);
  const isWithin = (ms: number, { at }: Refusal): boolean => {
    const age = now - at.getTime();
    return age >= 0 && age < ms;
  };
  const isEarly = refusals.some((refusal) => isWithin(RETRY_MS, refusal));
  const wasRefusedHere = refusals.some((refusal) => refusal.host === host && isWithin(YIELD_MS, refusal));
  if (wasRefusedHere) return !isEarly && !(await doesOtherWait(tx, access, host, now));
  const name = waitName(access);
  if (isEarly) await writeLease(tx, { name, holder: host, host, now, ends: now + YIELD_MS });
  else await tx.execute(`DELETE FROM leases WHERE name = $1`, name);
  return !isEarly;
}

/** True if a host waits to send a key with which it was not refused. */
async function doesOtherWait(tx: Sql, access: string, host: string, now: number): Promise<boolean> {
  const waiting = await tx.query(
    `SELECT 1 FROM leases WHERE name = $1 AND holder <> $2 AND expires_at > $3 AND expires_at <= $4`,
    waitName(access),
    host,
    iso(now),
    iso(now + YIELD_MS),
  );
  return waiting.length > 0;
}

/** The name of the lease of a host that waits to send a refused key. */
function waitName(access: string): string {
  return `key-waits ${access}`;
}

/** Newest first. */
async function refusalsOf(sql: Sql, access: string): Promise<Refusal[]> {
  return await sql.query<Refusal>(
    `SELECT host, acquired_at AS at, expires_at AS until FROM leases WHERE holder = $1
     ORDER BY acquired_at DESC`,
    access,
  );
}

interface KeyLease {
  readonly name: string;
  readonly holder: string;
  readonly host: string;
  /** Epoch ms, like `ends`. */
  readonly now: number;
  readonly ends: number;
}

async function writeLease(tx: Sql, { name, holder, host, now, ends }: KeyLease): Promise<void> {
  await tx.execute(
    `INSERT INTO leases (name, holder, host, pid, command, acquired_at, heartbeat_at, expires_at)
     VALUES ($1, $2, $3, $4, 'gate', $5, $5, $6)
     ON CONFLICT (name) DO UPDATE SET pid = excluded.pid, holder = excluded.holder, host = excluded.host,
       acquired_at = excluded.acquired_at, heartbeat_at = excluded.heartbeat_at,
       expires_at = excluded.expires_at`,
    name,
    holder,
    host,
    process.pid,
    iso(now),
    iso(ends),
  );
}
