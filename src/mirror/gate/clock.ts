import { BUDGET_WINDOW_MS } from '../../core/budget.ts';
import { TABLES } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso, isoOrNull } from '../../database/instants.ts';

const CLOCK_TOLERANCE_MS = 1000;

const SWEEP_TIMES = ['started_at', 'heartbeat_at', 'finished_at'];
const PASS_TIMES = ['requested_at', 'started_at', 'heartbeat_at'];
const SLOT_TIMES = ['due_since', 'due_before'];

/** The newest of each list and state, and those among which a pass looks for the last sign of life. */
const RECENT_SWEEPS = `(id IN (SELECT max(id) FROM sweeps GROUP BY list, inbox_id, state) OR id > (SELECT max(id) FROM sweeps) - 1000)`;
const OPEN_PASSES = `state IN ('open', 'running')`;

interface ClockRow {
  clock_host: string | null;
  clock_boot: string | null;
  clock_boot_at: Date | null;
  paused_at: Date | null;
  paused_until: Date | null;
}

/**
 * The wall clock's reading at the machine's boot moves only when the clock is set. By as much as it moved, the ledger's recent rows and the
 * newest sweeps are moved too, with all that is held against their times: what is 20 hours old stays 20 hours old. Where the clock came up
 * behind after the machine was off, nobody knows by how much: the latest sign of life then lies just before now. Requests that still lie in the
 * future are brought to now, so that they count for a day and not for ever; a pause that began in the future begins now.
 */
export async function followClock(
  tx: Sql,
  dialect: Dialect,
  boot: { host: string; id: string; at: number },
  now: number,
): Promise<void> {
  await tx.execute(`INSERT INTO gate_state (id) VALUES (1) ON CONFLICT (id) DO NOTHING`);
  const [seen] = await tx.query<ClockRow>(
    `SELECT clock_host, clock_boot, clock_boot_at, paused_at, paused_until FROM gate_state`,
  );
  const sameRun = seen?.clock_host === boot.host && seen.clock_boot === boot.id;
  const jump = sameRun ? boot.at - (seen.clock_boot_at?.getTime() ?? boot.at) : 0;
  const moved = Math.abs(jump) > CLOCK_TOLERANCE_MS ? jump : 0;
  if (moved !== 0) {
    const recent = `sent_at > '${iso(now - moved - BUDGET_WINDOW_MS)}'`;
    await move(tx, dialect, moved, { table: 'requests', columns: ['sent_at'], which: recent });
    await moveSweeps(tx, dialect, moved);
  }
  const behind = (await lastSign(tx)) - now;
  if (behind > CLOCK_TOLERANCE_MS) await moveSweeps(tx, dialect, -behind - 1);
  await tx.execute(
    `UPDATE requests SET sent_at = $1 WHERE sent_at > $2`,
    iso(now),
    iso(now + CLOCK_TOLERANCE_MS),
  );

  const pausedAt = seen?.paused_at?.getTime() ?? null;
  const pausedUntil = seen?.paused_until?.getTime() ?? null;
  const ahead = pausedAt === null ? 0 : Math.max(0, pausedAt + moved - now);
  const shifted = (instant: number | null): string | null =>
    isoOrNull(instant === null ? null : instant + moved - ahead);
  if (moved !== 0 || ahead > 0) {
    await tx.execute(
      `UPDATE gate_state SET paused_at = $1, paused_until = $2`,
      shifted(pausedAt),
      shifted(pausedUntil),
    );
  }
  if (!sameRun || moved !== 0) {
    await tx.execute(
      `UPDATE gate_state SET clock_host = $1, clock_boot = $2, clock_boot_at = $3`,
      boot.host,
      boot.id,
      isoOrNull(boot.at),
    );
  }
}

/** Moves the recent sweeps, and what is held against their times: passes, slots, the outage, suspicions. */
async function moveSweeps(tx: Sql, dialect: Dialect, moved: number): Promise<void> {
  await move(tx, dialect, moved, { table: 'sweeps', columns: SWEEP_TIMES, which: RECENT_SWEEPS });
  await move(tx, dialect, moved, { table: 'sync_requests', columns: PASS_TIMES, which: OPEN_PASSES });
  await move(tx, dialect, moved, {
    table: 'schedules',
    key: 'list',
    columns: SLOT_TIMES,
    which: 'due_since IS NOT NULL',
  });
  await move(tx, dialect, moved, {
    table: 'gate_state',
    columns: ['outage_since', 'outage_until'],
    which: 'id = 1',
  });
  for (const table of Object.values(TABLES)) await moveSuspicions(tx, moved, table);
}

/** When a sweep or a pass last did anything, epoch ms; 0 where none has. */
async function lastSign(tx: Sql): Promise<number> {
  const signs = await tx.query<{ heartbeat_at: Date }>(
    `SELECT heartbeat_at FROM sweeps WHERE ${RECENT_SWEEPS}
     UNION ALL SELECT heartbeat_at FROM sync_requests WHERE ${OPEN_PASSES} AND heartbeat_at IS NOT NULL
     ORDER BY heartbeat_at DESC LIMIT 1`,
  );
  return signs[0]?.heartbeat_at.getTime() ?? 0;
}

interface Moving {
  readonly table: string;
  readonly key?: string;
  readonly columns: readonly string[];
  /** A condition on the rows to move. */
  readonly which: string;
}

/** Moves instants by `moved` milliseconds; what is null stays null. */
async function move(
  tx: Sql,
  dialect: Dialect,
  moved: number,
  { table, key = 'id', columns, which }: Moving,
): Promise<void> {
  const found = await tx.query<Record<string, Date | null> & { the_key: string }>(
    `SELECT CAST(${key} AS TEXT) AS the_key, ${columns.join(', ')} FROM ${table} WHERE ${which}`,
  );
  const rows = found.map(({ the_key, ...instants }) => ({
    the_key,
    ...Object.fromEntries(
      Object.entries(instants).map(([name, at]) => [name, at === null ? null : iso(at.getTime() + moved)]),
    ),
  }));
  const kinds = Object.fromEntries(columns.map((column) => [column, 'instant' as const]));
  await tx.execute(
    `UPDATE ${table} SET ${columns.map((column) => `${column} = moved.${column}`).join(', ')}
     FROM ${dialect.records('$1', { the_key: 'text', ...kinds }, 'moved')} WHERE ${table}.${key} = ${key === 'id' ? 'CAST(moved.the_key AS INTEGER)' : 'moved.the_key'}`,
    JSON.stringify(rows),
  );
}

/** A suspicion is held against the sweeps: one from the future would wait for its second witness until the clock has come there again. */
async function moveSuspicions(tx: Sql, moved: number, table: string): Promise<void> {
  const found = await tx.query<{ missing_since: Date }>(
    `SELECT DISTINCT missing_since FROM ${table} WHERE missing_since IS NOT NULL`,
  );
  const instants = found
    .map(({ missing_since: since }) => since.getTime())
    .toSorted((a, b) => (moved < 0 ? a - b : b - a));
  // In this order none is moved onto one that is still to be moved.
  for (const since of instants)
    await tx.execute(
      `UPDATE ${table} SET missing_since = $2 WHERE missing_since = $1`,
      iso(since),
      iso(since + moved),
    );
}
