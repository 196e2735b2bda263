import { BUDGET_WINDOW_MS } from '../../core/budget.ts';
import { type Boot, CLOCK_TOLERANCE_MS, wasSet } from '../../core/clock.ts';
import { TABLES } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import { OPEN_PASS } from '../passes/states.ts';

const SWEEP_TIMES = ['started_at', 'heartbeat_at', 'finished_at'];
const PASS_TIMES = ['requested_at', 'started_at', 'heartbeat_at'];
const SLOT_TIMES = ['due_since', 'due_before'];

/** The newest sweep of each list and state, and the newest 1,000, whose last heartbeat a new pass reads. */
const RECENT_SWEEPS = `(id IN (SELECT max(id) FROM sweeps GROUP BY list, inbox_id, state)
  OR id > (SELECT max(id) FROM sweeps) - 1000)`;
const OPEN_PASSES = `state IN ${OPEN_PASS}`;

interface ClockRow {
  clock_host: string | null;
  clock_boot: string | null;
  clock_boot_at: Date | null;
  paused_at: Date | null;
  paused_until: Date | null;
}

/**
 * Shifts stored instants along with a wall clock that was set (docs/decisions/0003): the time of the last
 * boot, as the clock shows it, has then changed. The ledger's recent rows, the newest sweeps and all instants
 * that are compared with them shift by the same amount: a row that was 20 hours old stays 20 hours old.
 *
 * If the clock is behind after the machine was off, the amount is unknown. The latest heartbeat then shifts
 * to just before `now`. Requests in the future are set to `now`, so that they count for a day and not for
 * ever. A pause that began in the future begins now.
 */
export async function followClock(tx: Sql, dialect: Dialect, boot: Boot, now: number): Promise<void> {
  await tx.execute(`INSERT INTO gate_state (id) VALUES (1) ON CONFLICT (id) DO NOTHING`);
  const [stored] = await tx.query<ClockRow>(
    `SELECT clock_host, clock_boot, clock_boot_at, paused_at, paused_until FROM gate_state`,
  );
  const sameRun = stored?.clock_host === boot.host && stored.clock_boot === boot.id;
  const last = { at: stored?.clock_boot_at?.getTime() ?? boot.at };
  const shift = sameRun && wasSet(boot, last) ? boot.at - last.at : 0;
  if (shift !== 0) {
    const recent = `sent_at > '${iso(now - shift - BUDGET_WINDOW_MS)}'`;
    await shiftInstants(tx, dialect, shift, { table: 'requests', columns: ['sent_at'], where: recent });
    await shiftSweeps(tx, dialect, shift);
  }
  const behind = (await lastHeartbeat(tx)) - now;
  if (behind > CLOCK_TOLERANCE_MS) await shiftSweeps(tx, dialect, -behind - 1);
  await tx.execute(
    `UPDATE requests SET sent_at = $1 WHERE sent_at > $2`,
    iso(now),
    iso(now + CLOCK_TOLERANCE_MS),
  );
  if (stored !== undefined) await shiftPause(tx, stored, shift, now);
  if (!sameRun || shift !== 0) {
    await tx.execute(
      `UPDATE gate_state SET clock_host = $1, clock_boot = $2, clock_boot_at = $3`,
      boot.host,
      boot.id,
      iso(boot.at),
    );
  }
}

/** Shifts the gate's pause; one that would begin in the future begins now and keeps its length. */
async function shiftPause(
  tx: Sql,
  { paused_at, paused_until }: ClockRow,
  shift: number,
  now: number,
): Promise<void> {
  const ahead = paused_at === null ? 0 : Math.max(0, paused_at.getTime() + shift - now);
  if (shift === 0 && ahead === 0) return;
  const shifted = (at: Date | null): string | null =>
    at === null ? null : iso(at.getTime() + shift - ahead);
  await tx.execute(
    `UPDATE gate_state SET paused_at = $1, paused_until = $2`,
    shifted(paused_at),
    shifted(paused_until),
  );
}

/** Shifts the recent sweeps and what is compared with them: passes, slots, the outage, another
 * account, the limit of the day, suspicions. */
async function shiftSweeps(tx: Sql, dialect: Dialect, shift: number): Promise<void> {
  await shiftInstants(tx, dialect, shift, { table: 'sweeps', columns: SWEEP_TIMES, where: RECENT_SWEEPS });
  await shiftInstants(tx, dialect, shift, {
    table: 'sync_requests',
    columns: PASS_TIMES,
    where: OPEN_PASSES,
  });
  await shiftInstants(tx, dialect, shift, {
    table: 'schedules',
    key: 'list',
    columns: SLOT_TIMES,
    where: 'due_since IS NOT NULL',
  });
  await shiftInstants(tx, dialect, shift, {
    table: 'gate_state',
    columns: ['outage_since', 'outage_until', 'account_since', 'account_until', 'day_limit_at'],
    where: 'id = 1',
  });
  for (const table of Object.values(TABLES)) await shiftSuspicions(tx, shift, table);
}

/** When a sweep or an open pass was last active, epoch ms; 0 if never. */
async function lastHeartbeat(tx: Sql): Promise<number> {
  const [last] = await tx.query<{ heartbeat_at: Date }>(
    `SELECT heartbeat_at FROM sweeps WHERE ${RECENT_SWEEPS}
     UNION ALL SELECT heartbeat_at FROM sync_requests WHERE ${OPEN_PASSES} AND heartbeat_at IS NOT NULL
     ORDER BY heartbeat_at DESC LIMIT 1`,
  );
  return last?.heartbeat_at.getTime() ?? 0;
}

interface Instants {
  readonly table: string;
  readonly key?: string;
  readonly columns: readonly string[];
  /** A condition on the rows. */
  readonly where: string;
}

/** Shifts instants by `shift` ms. Null stays null. */
async function shiftInstants(
  tx: Sql,
  dialect: Dialect,
  shift: number,
  { table, key = 'id', columns, where }: Instants,
): Promise<void> {
  const found = await tx.query<Record<string, Date | null> & { row_key: string }>(
    `SELECT CAST(${key} AS TEXT) AS row_key, ${columns.join(', ')} FROM ${table} WHERE ${where}`,
  );
  const rows = found.map(({ row_key, ...instants }) => ({
    row_key,
    ...Object.fromEntries(
      Object.entries(instants).map(([name, at]) => [name, at === null ? null : iso(at.getTime() + shift)]),
    ),
  }));
  const kinds = Object.fromEntries(columns.map((column) => [column, 'instant' as const]));
  const rowKey = key === 'id' ? 'CAST(shifted.row_key AS INTEGER)' : 'shifted.row_key';
  await tx.execute(
    `UPDATE ${table} SET ${columns.map((column) => `${column} = shifted.${column}`).join(', ')}
     FROM ${dialect.records('$1', { row_key: 'text', ...kinds }, 'shifted')}
     WHERE ${table}.${key} = ${rowKey}`,
    JSON.stringify(rows),
  );
}

/**
 * Shifts `missing_since`, which is compared with the times of sweeps. A row whose `missing_since` stays in
 * the future gets no second witness until the clock reaches it again.
 */
async function shiftSuspicions(tx: Sql, shift: number, table: string): Promise<void> {
  const found = await tx.query<{ missing_since: Date }>(
    `SELECT DISTINCT missing_since FROM ${table} WHERE missing_since IS NOT NULL`,
  );
  const instants = found
    .map(({ missing_since: since }) => since.getTime())
    .toSorted((a, b) => (shift < 0 ? a - b : b - a));
  // In this order no instant is shifted onto one that is still to be shifted.
  for (const since of instants)
    await tx.execute(
      `UPDATE ${table} SET missing_since = $2 WHERE missing_since = $1`,
      iso(since),
      iso(since + shift),
    );
}
