import { TABLES } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect, RecordKind } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import { OPEN_PASS } from '../passes/states.ts';
import { writeClockSet } from '../settings/clock-set.ts';

interface Instants {
  readonly table: string;
  /** The columns of the primary key. */
  readonly key?: Readonly<Record<string, RecordKind>>;
  readonly columns: readonly string[];
  /** A condition on the rows. */
  readonly where: string;
  /** Later instants stay, epoch ms: they are of the clock as it is now. */
  readonly until?: number;
}

const SWEEP_TIMES = ['started_at', 'heartbeat_at', 'finished_at'];
const PASS_TIMES = ['requested_at', 'started_at', 'heartbeat_at'];

/** The newest sweep of each list and state, and the newest 1,000, whose last heartbeat a new pass reads. */
const RECENT_SWEEPS = `(id IN (SELECT max(id) FROM sweeps GROUP BY list, inbox_id, state)
  OR id > (SELECT max(id) FROM sweeps) - 1000)`;
/** Those of the last 20,000 that have deleted rows, which the brake counts: a day has fewer sweeps. */
const DELETING_SWEEPS = `(deleted > 0 AND id > (SELECT max(id) FROM sweeps) - 20000)`;
const OPEN_PASSES = `state IN ${OPEN_PASS}`;

/** Shifts the times of requests after `since` and up to `until` (epoch ms) by `shift` ms. */
export async function shiftRequests(
  tx: Sql,
  dialect: Dialect,
  shift: number,
  { since, until }: { since: number; until?: number },
): Promise<void> {
  const end = until === undefined ? '' : ` AND sent_at <= '${iso(until)}'`;
  const where = `sent_at > '${iso(since)}'${end}`;
  await shiftInstants(tx, dialect, shift, { table: 'requests', columns: ['sent_at'], where });
}

/** Instants of the past, which are compared with each other. */
const PAST: readonly Instants[] = [
  { table: 'sweeps', columns: SWEEP_TIMES, where: `${RECENT_SWEEPS} OR ${DELETING_SWEEPS}` },
  { table: 'sync_requests', columns: PASS_TIMES, where: OPEN_PASSES },
  // The readings of a walk become those of its bookmarks.
  {
    table: 'sweep_pages',
    key: { sweep_id: 'integer', page_no: 'integer' },
    columns: ['fetched_at'],
    where: 'TRUE',
  },
  {
    table: 'bookmarks',
    key: { inbox_id: 'text', after_id: 'text' },
    columns: ['read_at'],
    where: 'TRUE',
  },
  // The rejected rows of a page are as old as its last reading.
  { table: 'rejects', columns: ['seen_at'], where: 'TRUE' },
  {
    table: 'undecided',
    key: { inbox_id: 'text', conversation_id: 'text' },
    columns: ['asked_at'],
    where: 'TRUE',
  },
  { table: 'unlisted', columns: ['since', 'returned_at', 'asked_at'], where: 'TRUE' },
];

/** Instants that may lie ahead, such as the end of an outage, with their beginnings. */
const WAITS: readonly Instants[] = [
  { table: 'schedules', key: { list: 'text' }, columns: ['due_since'], where: 'due_since IS NOT NULL' },
  {
    table: 'gate_state',
    columns: ['outage_since', 'outage_until', 'account_since', 'account_until', 'day_limit_at'],
    where: 'id = 1',
  },
  {
    table: 'bookmark_lists',
    key: { inbox_id: 'text' },
    columns: ['lost_at'],
    where: 'lost_at IS NOT NULL',
  },
  { table: 'webhooks', key: { target: 'text' }, columns: ['retry_at'], where: 'retry_at IS NOT NULL' },
  { table: 'sweeps', columns: ['retry_at'], where: `retry_at IS NOT NULL AND ${RECENT_SWEEPS}` },
];

/**
 * Shifts the recent sweeps and every instant that is compared with them or waits for the clock. Instants of
 * `changes` stay, so that it records which of them are older.
 * @param until sweeps, readings and suspicions after this (epoch ms) are of the clock as it is now, and stay
 */
export async function shiftSweeps(
  tx: Sql,
  dialect: Dialect,
  shift: number,
  { until = Number.POSITIVE_INFINITY }: { until?: number } = {},
): Promise<void> {
  await writeClockSet(tx);
  for (const instants of PAST) await shiftInstants(tx, dialect, shift, { ...instants, until });
  await shiftSuspicions(tx, shift, { until });
  for (const instants of WAITS) await shiftInstants(tx, dialect, shift, instants);
}

/** When a sweep or an open pass was last active, epoch ms; 0 if never. */
export async function lastHeartbeat(tx: Sql): Promise<number> {
  const [last] = await tx.query<{ heartbeat_at: Date }>(
    `SELECT heartbeat_at FROM sweeps WHERE ${RECENT_SWEEPS}
     UNION ALL SELECT heartbeat_at FROM sync_requests WHERE ${OPEN_PASSES} AND heartbeat_at IS NOT NULL
     ORDER BY heartbeat_at DESC LIMIT 1`,
  );
  return last?.heartbeat_at.getTime() ?? 0;
}

/** Shifts instants by `shift` ms. Null stays null. */
async function shiftInstants(
  tx: Sql,
  dialect: Dialect,
  shift: number,
  { table, key = { id: 'integer' }, columns, where, until = Number.POSITIVE_INFINITY }: Instants,
): Promise<void> {
  const keys = Object.keys(key);
  const found = await tx.query<Record<string, unknown>>(
    `SELECT ${[...keys, ...columns].join(', ')} FROM ${table} WHERE ${where}`,
  );
  const rows = found.map((row) => ({
    ...row,
    ...Object.fromEntries(
      columns.map((column) => {
        const at = row[column] as Date | null;
        if (at === null) return [column, null];
        const time = at.getTime();
        return [column, iso(time > until ? time : time + shift)];
      }),
    ),
  }));
  const kinds = Object.fromEntries(columns.map((column) => [column, 'instant' as const]));
  await tx.execute(
    `UPDATE ${table} SET ${columns.map((column) => `${column} = shifted.${column}`).join(', ')}
     FROM ${dialect.records('$1', { ...key, ...kinds }, 'shifted')}
     WHERE ${keys.map((column) => `${table}.${column} = shifted.${column}`).join(' AND ')}`,
    JSON.stringify(rows),
  );
}

/** Shifts the times by which the brake counts deletions: the last activity of sweeps up to `until`. */
export async function shiftDeletions(
  tx: Sql,
  dialect: Dialect,
  shift: number,
  { until }: { until: number },
): Promise<void> {
  await writeClockSet(tx);
  const where = `${DELETING_SWEEPS} AND heartbeat_at <= '${iso(until)}'`;
  await shiftInstants(tx, dialect, shift, { table: 'sweeps', columns: ['heartbeat_at'], where });
}

/**
 * Shifts each `missing_since` up to `until` (epoch ms), which is compared with the times of sweeps. A row
 * whose `missing_since` stays in the future gets no second witness until the clock reaches it again.
 */
export async function shiftSuspicions(
  tx: Sql,
  shift: number,
  { until = Number.POSITIVE_INFINITY }: { until?: number } = {},
): Promise<void> {
  for (const table of Object.values(TABLES)) {
    const found = await tx.query<{ missing_since: Date }>(
      `SELECT DISTINCT missing_since FROM ${table} WHERE missing_since IS NOT NULL`,
    );
    const instants = found
      .map(({ missing_since: since }) => since.getTime())
      .filter((since) => since <= until)
      .toSorted((a, b) => (shift < 0 ? a - b : b - a));
    // In this order no instant is shifted onto one that is still to be shifted.
    for (const since of instants)
      await tx.execute(
        `UPDATE ${table} SET missing_since = $2 WHERE missing_since = $1`,
        iso(since),
        iso(since + shift),
      );
  }
}
