import type { Fence } from './leases.ts';
import { iso } from './rows.ts';
import type { Database, Sql } from './sql.ts';

const KEPT_MS = 30 * 24 * 3_600_000;
/** So few at a time that a page or a request does not wait for it. */
const AT_ONCE = 2000;

/** How many rows went. */
export interface Tidied {
  readonly requests: number;
  readonly sweeps: number;
  readonly pages: number;
  readonly orders: number;
}

/** Of every list and state the sweeps but the two newest: what only they kept is superseded. */
const SUPERSEDED = `SELECT id FROM (
    SELECT id, state, row_number() OVER (PARTITION BY list, inbox_id, state ORDER BY id DESC) AS nth FROM sweeps
  ) AS ranked WHERE nth > 2 AND state NOT IN ('running', 'paused')`;

/**
 * Drops what nobody will ask for again: requests, ended orders, and sweeps that found nothing, all older than 30 days; the pages of superseded
 * sweeps. `changes` are kept for ever. Then lets the database tidy its own files.
 */
export async function housekeep(database: Database, fence: Fence, now: number): Promise<Tidied> {
  const old = iso(now - KEPT_MS);
  const remove = (statement: string, ...parameters: unknown[]): Promise<number> => inBits(database, fence, statement, parameters);
  const tidied = {
    requests: await remove(
      `DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE sent_at < $1 ORDER BY sent_at LIMIT ${AT_ONCE})`,
      old,
    ),
    pages: await remove(
      `DELETE FROM sweep_pages WHERE (sweep_id, page_no) IN (
         SELECT sweep_id, page_no FROM sweep_pages WHERE sweep_id IN (${SUPERSEDED}) OR sweep_id NOT IN (SELECT id FROM sweeps) LIMIT ${AT_ONCE})`,
    ),
    sweeps: await remove(
      `DELETE FROM sweeps WHERE id IN (
         SELECT id FROM sweeps WHERE finished_at < $1 AND inserted + changed + deleted + rejected = 0 AND id IN (${SUPERSEDED}) LIMIT ${AT_ONCE})`,
      old,
    ),
    orders: await remove(
      `DELETE FROM sync_requests WHERE id IN (SELECT id FROM sync_requests WHERE finished_at < $1 LIMIT ${AT_ONCE})`,
      old,
    ),
  };
  for (const statement of database.dialect.maintenance) await database.query(statement);
  return tidied;
}

async function inBits(database: Database, fence: Fence, statement: string, parameters: unknown[]): Promise<number> {
  let all = 0;
  for (;;) {
    const removed = await database.transaction(async (tx: Sql) => {
      await fence(tx);
      return await tx.execute(statement, ...parameters);
    });
    all += removed;
    if (removed < AT_ONCE) return all;
  }
}
