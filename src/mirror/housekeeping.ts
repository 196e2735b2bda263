import { DAY } from '../core/clock.ts';
import type { Database } from '../database/database.ts';
import { iso } from '../database/instants.ts';
import { FORGET_DECIDED } from './items/suspects/undecided.ts';
import type { FencedDatabase } from './lease.ts';
import { ANY_SWEEP, OPEN_SWEEP } from './sweeps/states.ts';

/** Rows are kept for at least this many ms. The view `reads` relies on it. */
const KEPT_MS = 30 * DAY;

/** A request that is older than this many ms has been kept for a day too long. */
const OVERDUE_MS = KEPT_MS + DAY;

/** At most this many rows are deleted in one transaction, so that pages and requests do not wait long. */
const BATCH = 500;

/**
 * A condition for sweeps that found nothing but that the views need: the first complete one of an inbox,
 * with which its days begin, and the last complete one before a sweep that found something. A row that is
 * new in the later sweep was absent when the earlier one began (`from_earliest` in
 * prisma/views/common/parts/intervals.sql).
 */
const NEEDED = `list = 'conversations' AND state = 'complete' AND (
  NOT EXISTS (SELECT 1 FROM sweeps AS earlier
    WHERE earlier.list = sweeps.list AND earlier.inbox_id = sweeps.inbox_id
      AND earlier.state = 'complete' AND earlier.id < sweeps.id)
  OR EXISTS (SELECT 1 FROM sweeps AS later
    WHERE later.list = sweeps.list AND later.inbox_id = sweeps.inbox_id AND later.id > sweeps.id
      AND later.inserted + later.changed > 0
      AND later.state IN ${ANY_SWEEP}
      AND later.id <= (SELECT min(following.id) FROM sweeps AS following
        WHERE following.list = sweeps.list AND following.inbox_id = sweeps.inbox_id
          AND following.state = 'complete' AND following.id > sweeps.id)))`;

/** How many rows were deleted. */
export interface DeletedRows {
  readonly requests: number;
  readonly sweeps: number;
  readonly pages: number;
  /** Passes, ordered or not. */
  readonly orders: number;
}

/**
 * Deletes requests, ended passes and unneeded sweeps that are older than 30 days, and the pages of
 * superseded sweeps. `changes` are kept for ever. Then lets the database tidy its files.
 * @throws the signal's reason between two batches
 */
export async function housekeep(
  { database, write }: FencedDatabase,
  now: number,
  signal?: AbortSignal,
): Promise<DeletedRows> {
  const fenced: FencedDatabase = {
    database,
    write: async (work) => {
      signal?.throwIfAborted();
      return await write(work);
    },
  };

  const old = iso(now - KEPT_MS);
  const closed = await supersededSweeps(database, old);
  const superseded = closed.map(({ id }) => id);
  const unneeded = closed.filter(({ begins_gap }) => begins_gap === 0).map(({ id }) => id);
  const deleted = {
    requests: await deleteOld(
      fenced,
      'requests',
      `SELECT id FROM requests WHERE sent_at < $1 ORDER BY sent_at LIMIT ${BATCH}`,
      old,
    ),
    orders: await deleteOld(
      fenced,
      'sync_requests',
      `SELECT id FROM sync_requests WHERE finished_at < $1 LIMIT ${BATCH}`,
      old,
    ),
    pages:
      (await deleteFor(fenced, superseded, (ids) => `DELETE FROM sweep_pages WHERE sweep_id IN (${ids})`)) +
      (await deleteBatch(fenced, `DELETE FROM sweep_pages WHERE sweep_id NOT IN (SELECT id FROM sweeps)`)),
    sweeps: await deleteFor(
      fenced,
      unneeded,
      (ids) => `DELETE FROM sweeps WHERE id IN (${ids}) AND finished_at < $2
        AND inserted + changed + deleted + rejected = 0 AND NOT (${NEEDED})`,
      old,
    ),
  };
  await deleteBatch(fenced, FORGET_DECIDED);
  for (const statement of database.dialect.maintenance) await database.query(statement);
  return deleted;
}

/**
 * True if no housekeeping was done for a day although there is something to delete, as on a mirror without a
 * daemon.
 */
export async function isHousekeepingOverdue(database: Database, now: number): Promise<boolean> {
  const old = iso(now - OVERDUE_MS);
  return (await database.query(`SELECT 1 AS old FROM requests WHERE sent_at < $1 LIMIT 1`, old)).length > 0;
}

/**
 * The closed sweeps, except the two newest of each list and state. `begins_gap` is 1 for a complete sweep
 * whose next one is not older than `old`: the view `reads` tells how long after it that one ended.
 */
async function supersededSweeps(
  database: Database,
  old: string,
): Promise<{ id: number; begins_gap: number }[]> {
  return await database.query<{ id: number; begins_gap: number }>(
    `SELECT id, CASE WHEN state = 'complete' AND next_at >= $1 THEN 1 ELSE 0 END AS begins_gap FROM (
       SELECT id, state, row_number() OVER newest AS nth, lag(finished_at) OVER newest AS next_at
       FROM sweeps WINDOW newest AS (PARTITION BY list, inbox_id, state ORDER BY id DESC)
     ) AS ranked WHERE nth > 2 AND state NOT IN ${OPEN_SWEEP}`,
    old,
  );
}

/** Deletes the rows that `oldIds` selects, a query for one batch of ids; `$1` is `old`. */
async function deleteOld(
  fenced: FencedDatabase,
  table: string,
  oldIds: string,
  old: string,
): Promise<number> {
  let total = 0;
  for (;;) {
    const deleted = await deleteBatch(fenced, `DELETE FROM ${table} WHERE id IN (${oldIds})`, old);
    total += deleted;
    if (deleted < BATCH) return total;
  }
}

/** Runs a statement for each batch of ids: its argument is a query for them, its parameters begin at `$2`. */
async function deleteFor(
  fenced: FencedDatabase,
  ids: readonly number[],
  statement: (ids: string) => string,
  ...parameters: unknown[]
): Promise<number> {
  const batchIds = `SELECT CAST(value AS INTEGER) FROM ${fenced.database.dialect.texts('$1', 'ids')}`;
  let total = 0;
  for (let from = 0; from < ids.length; from += BATCH) {
    const batch = JSON.stringify(ids.slice(from, from + BATCH).map(String));
    total += await deleteBatch(fenced, statement(batchIds), batch, ...parameters);
  }
  return total;
}

/** Runs one statement in one transaction, and lets other work run before it. */
async function deleteBatch(
  fenced: FencedDatabase,
  statement: string,
  ...parameters: unknown[]
): Promise<number> {
  await new Promise(setImmediate);
  return await fenced.write((tx) => tx.execute(statement, ...parameters));
}
