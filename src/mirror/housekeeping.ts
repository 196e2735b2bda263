import type { Database } from '../database/database.ts';
import { iso } from '../database/instants.ts';
import type { Fence } from './lease.ts';

const KEPT_MS = 30 * 24 * 3_600_000;

/** So few at a time that a page or a request does not wait for it. */
const AT_ONCE = 500;

/**
 * Sweeps that found nothing and yet say something: the first complete one of an inbox, with which its days begin, and the one before another that found
 * something, for what was new then had not been there when this one began (`from_earliest` in prisma/views/common/status_intervals.sql).
 */
const OF_USE = `list = 'conversations' AND state = 'complete' AND (
  NOT EXISTS (SELECT 1 FROM sweeps AS earlier
    WHERE earlier.list = sweeps.list AND earlier.inbox_id = sweeps.inbox_id AND earlier.state = 'complete' AND earlier.id < sweeps.id)
  OR EXISTS (SELECT 1 FROM sweeps AS later
    WHERE later.list = sweeps.list AND later.inbox_id = sweeps.inbox_id AND later.id > sweeps.id AND later.inserted + later.changed > 0
      AND later.state IN ('complete', 'running', 'paused', 'failed', 'abandoned')
      AND later.id <= (SELECT min(following.id) FROM sweeps AS following
        WHERE following.list = sweeps.list AND following.inbox_id = sweeps.inbox_id AND following.state = 'complete' AND following.id > sweeps.id)))`;

/** How many rows went. */
export interface Tidied {
  readonly requests: number;
  readonly sweeps: number;
  readonly pages: number;
  readonly orders: number;
}

/**
 * Drops what nobody will ask for again: requests, ended orders, and sweeps that found nothing and tell nothing, all older than 30 days; the pages
 * of superseded sweeps. `changes` are kept for ever. Then lets the database tidy its own files.
 */
export async function housekeep(database: Database, fence: Fence, now: number): Promise<Tidied> {
  const old = iso(now - KEPT_MS);
  const superseded = await supersededSweeps(database);
  const tidied = {
    requests: await removeOld(
      database,
      fence,
      `SELECT id FROM requests WHERE sent_at < $1 ORDER BY sent_at LIMIT ${AT_ONCE}`,
      'requests',
      old,
    ),
    orders: await removeOld(
      database,
      fence,
      `SELECT id FROM sync_requests WHERE finished_at < $1 LIMIT ${AT_ONCE}`,
      'sync_requests',
      old,
    ),
    pages:
      (await removeOf(
        database,
        fence,
        superseded,
        (ids) => `DELETE FROM sweep_pages WHERE sweep_id IN (${ids})`,
      )) +
      (await inOneBit(
        database,
        fence,
        `DELETE FROM sweep_pages WHERE sweep_id NOT IN (SELECT id FROM sweeps)`,
      )),
    sweeps: await removeOf(
      database,
      fence,
      superseded,
      (ids) =>
        `DELETE FROM sweeps WHERE id IN (${ids}) AND finished_at < $2 AND inserted + changed + deleted + rejected = 0 AND NOT (${OF_USE})`,
      old,
    ),
  };
  for (const statement of database.dialect.maintenance) await database.query(statement);
  return tidied;
}

/** Of every list and state all sweeps but the two newest: what only they kept is superseded. */
async function supersededSweeps(database: Database): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `SELECT id FROM (
       SELECT id, state, row_number() OVER (PARTITION BY list, inbox_id, state ORDER BY id DESC) AS nth FROM sweeps
     ) AS ranked WHERE nth > 2 AND state NOT IN ('running', 'paused')`,
  );
  return rows.map(({ id }) => id);
}

async function removeOld(
  database: Database,
  fence: Fence,
  which: string,
  table: string,
  old: string,
): Promise<number> {
  let all = 0;
  for (;;) {
    const removed = await inOneBit(database, fence, `DELETE FROM ${table} WHERE id IN (${which})`, old);
    all += removed;
    if (removed < AT_ONCE) return all;
  }
}

async function removeOf(
  database: Database,
  fence: Fence,
  ids: readonly number[],
  statement: (ids: string) => string,
  ...parameters: unknown[]
): Promise<number> {
  const these = `SELECT CAST(value AS INTEGER) FROM ${database.dialect.texts('$1', 'ids')}`;
  let all = 0;
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const bit = JSON.stringify(ids.slice(from, from + AT_ONCE).map(String));
    all += await inOneBit(database, fence, statement(these), bit, ...parameters);
  }
  return all;
}

/** Others have their turn after each. */
async function inOneBit(
  database: Database,
  fence: Fence,
  statement: string,
  ...parameters: unknown[]
): Promise<number> {
  await new Promise(setImmediate);
  return await database.transaction(async (tx) => {
    await fence(tx);
    return await tx.execute(statement, ...parameters);
  });
}
