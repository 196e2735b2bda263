import type { Reason } from '../../core/ledger.ts';
import { listId, type ListKey, type ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';

/** One sweep as SQL keeps it, as far as freshness and planning look at it. */
export interface LatestSweep {
  readonly list: ListName;
  readonly inboxId: string | null;
  readonly reason: Reason;
  readonly state: 'running' | 'paused' | 'complete' | 'failed' | 'abandoned';
  readonly pages: number;
  readonly items: number;
  readonly rejected: number;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly error: string | null;
}

/** Of every list the newest sweep of each state, newest first, by `listId`. */
export async function latestSweeps(sql: Sql): Promise<Map<string, LatestSweep[]>> {
  const rows = await sql.query<Omit<LatestSweep, 'inboxId' | 'startedAt' | 'finishedAt'> & Columns>(
    `SELECT list, inbox_id, reason, state, pages, items, rejected, started_at, finished_at, error FROM sweeps
     WHERE id IN (SELECT max(id) FROM sweeps GROUP BY list, inbox_id, state) ORDER BY id DESC`,
  );
  const sweeps = rows.map(({ inbox_id, started_at, finished_at, ...row }): LatestSweep => ({
    ...row,
    inboxId: inbox_id,
    startedAt: started_at,
    finishedAt: finished_at,
  }));
  return Map.groupBy(sweeps, listId);
}

interface Columns {
  inbox_id: string | null;
  started_at: Date;
  finished_at: Date | null;
}

/** The sweep in progress, if any, and the last complete one. */
export function openAndComplete(own: readonly LatestSweep[]): {
  open: LatestSweep | undefined;
  complete: LatestSweep | undefined;
} {
  return {
    open: own.find(({ state }) => state === 'running' || state === 'paused'),
    complete: own.find(({ state }) => state === 'complete'),
  };
}

/** What complete sweeps of a list found, newest first: rows that were new, different or gone. */
export async function completeSweeps(
  sql: Sql,
  { list, inboxId }: ListKey,
): Promise<{ finishedAt: Date; changes: number }[]> {
  const rows = await sql.query<{ finished_at: Date; changes: number }>(
    `SELECT finished_at, inserted + changed + deleted AS changes FROM sweeps
     WHERE list = $1 AND inbox_id IS NOT DISTINCT FROM $2 AND state = 'complete' ORDER BY id DESC LIMIT ${SWEEPS_LOOKED_AT}`,
    list,
    inboxId,
  );
  return rows.map(({ finished_at, changes }) => ({ finishedAt: finished_at, changes }));
}

/** Two days of a list that is read every quarter of an hour. */
const SWEEPS_LOOKED_AT = 200;
