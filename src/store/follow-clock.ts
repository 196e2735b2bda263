import { BUDGET_WINDOW_MS } from '../core/ledger.ts';
import type { Dialect } from './dialect.ts';
import { iso, isoOrNull } from './rows.ts';
import type { Database, Sql } from './sql.ts';

const CLOCK_TOLERANCE_MS = 1000;

interface ClockRow {
  clock_host: string | null;
  clock_boot: string | null;
  clock_boot_at: Date | null;
  paused_at: Date | null;
  paused_until: Date | null;
}

/**
 * The wall clock's reading at the machine's boot moves only when the clock is set. By as much as it moved, the ledger's recent rows and the
 * newest sweeps are moved too: what is 20 hours old stays 20 hours old. What still lies in the future (a clock set back while the machine was
 * off) is brought to now, so that it counts for a day and not for ever; a pause that began in the future begins now.
 */
export async function followClock(
  tx: Sql,
  { dialect }: Database,
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
    const newest = `id IN (SELECT max(id) FROM sweeps GROUP BY list, inbox_id, state)`;
    await move(tx, dialect, moved, { table: 'sweeps', columns: ['started_at', 'heartbeat_at', 'finished_at'], which: newest });
    const open = `state IN ('open', 'running')`;
    await move(tx, dialect, moved, {
      table: 'sync_requests',
      columns: ['requested_at', 'started_at', 'heartbeat_at'],
      which: open,
    });
    await move(tx, dialect, moved, {
      table: 'schedules',
      key: 'list',
      columns: ['due_since', 'due_before'],
      which: 'due_since IS NOT NULL',
    });
    await move(tx, dialect, moved, { table: 'gate_state', columns: ['outage_since', 'outage_until'], which: 'id = 1' });
  }
  await tx.execute(`UPDATE requests SET sent_at = $1 WHERE sent_at > $2`, iso(now), iso(now + CLOCK_TOLERANCE_MS));

  const pausedAt = seen?.paused_at?.getTime() ?? null;
  const pausedUntil = seen?.paused_until?.getTime() ?? null;
  const ahead = pausedAt === null ? 0 : Math.max(0, pausedAt + moved - now);
  const shifted = (instant: number | null): string | null => isoOrNull(instant === null ? null : instant + moved - ahead);
  if (moved !== 0 || ahead > 0) {
    await tx.execute(`UPDATE gate_state SET paused_at = $1, paused_until = $2`, shifted(pausedAt), shifted(pausedUntil));
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

interface Moving {
  readonly table: string;
  readonly key?: string;
  readonly columns: readonly string[];
  /** A condition on the rows to move. */
  readonly which: string;
}

/** Moves instants by `moved` milliseconds; what is null stays null. */
async function move(tx: Sql, dialect: Dialect, moved: number, { table, key = 'id', columns, which }: Moving): Promise<void> {
  const found = await tx.query<Record<string, Date | null> & { the_key: string }>(
    `SELECT CAST(${key} AS TEXT) AS the_key, ${columns.join(', ')} FROM ${table} WHERE ${which}`,
  );
  const rows = found.map(({ the_key, ...instants }) => ({
    the_key,
    ...Object.fromEntries(Object.entries(instants).map(([name, at]) => [name, at === null ? null : iso(at.getTime() + moved)])),
  }));
  const kinds = Object.fromEntries(columns.map((column) => [column, 'instant' as const]));
  await tx.execute(
    `UPDATE ${table} SET ${columns.map((column) => `${column} = moved.${column}`).join(', ')}
     FROM ${dialect.records('$1', { the_key: 'text', ...kinds }, 'moved')} WHERE ${table}.${key} = ${key === 'id' ? 'CAST(moved.the_key AS INTEGER)' : 'moved.the_key'}`,
    JSON.stringify(rows),
  );
}
