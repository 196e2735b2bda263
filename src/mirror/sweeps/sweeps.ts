import type { Reason } from '../../core/ledger.ts';
import type { ListKey, ListName } from '../../core/lists.ts';
import type { Database, Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import type { Fence } from '../lease.ts';

/** One walk over all pages of one list, as far as it has come. */
export interface Sweep extends ListKey {
  readonly id: number;
  readonly reason: Reason;
  readonly nextPage: string | null;
  readonly pages: number;
  readonly items: number;
  readonly rejected: number;
  readonly startedAt: Date;
  /** No sweep of this list has completed yet: what this one finds is the baseline. */
  readonly baseline: boolean;
  /** Every page is in; only suspects remain to be asked for. */
  readonly walked: boolean;
  /** The tokens that this walk has already used or been given: one that comes again would never end. */
  readonly tokens: Set<string>;
}

interface SweepRow {
  id: number;
  list: ListName;
  inbox_id: string | null;
  reason: Reason;
  next_page: string | null;
  pages: number;
  items: number;
  rejected: number;
  started_at: Date;
  baseline: number;
}

const OPEN = `state IN ('running', 'paused')`;
const THE_LIST = `list = $1 AND inbox_id IS NOT DISTINCT FROM $2`;

/**
 * A condition on a list's sweeps (`$1` list, `$2` inbox): its `nth` last complete one (1 is the last) and all begun since. Naming every
 * state lets the index of list, inbox and state find them by their ids, so that years of sweeps cost nothing.
 */
export function sinceComplete(nth: number): string {
  return `${THE_LIST} AND state IN ('complete', 'running', 'paused', 'failed', 'abandoned') AND id >= COALESCE(
    (SELECT id FROM sweeps WHERE ${THE_LIST} AND state = 'complete' ORDER BY id DESC LIMIT 1 OFFSET ${nth - 1}), 0)`;
}

/** Goes on with the list's open sweep, or begins one. */
export async function openSweep(
  database: Database,
  fence: Fence,
  key: ListKey,
  reason: Reason,
  now: number,
): Promise<Sweep> {
  return await database.transaction(async (tx) => {
    await fence(tx);
    const resumed = await tx.execute(
      `UPDATE sweeps SET state = 'running', error = NULL, heartbeat_at = $3 WHERE ${THE_LIST} AND ${OPEN}`,
      key.list,
      key.inboxId,
      iso(now),
    );
    if (resumed === 0) {
      await dropFailed(tx, database.dialect, key);
      await tx.execute(
        `INSERT INTO sweeps (list, inbox_id, reason, state, started_at, heartbeat_at) VALUES ($1, $2, $4, 'running', $3, $3)`,
        key.list,
        key.inboxId,
        iso(now),
        reason,
      );
    }
    return await readOpenSweep(tx, key);
  });
}

/** Of the sweeps that ended without completing only the newest keeps what it saw: a list that never completes must not fill the disk. */
async function dropFailed(tx: Sql, { oneOfFew }: Dialect, { list, inboxId }: ListKey): Promise<void> {
  const ended = `SELECT id FROM sweeps WHERE ${sinceComplete(1)} AND state IN ('failed', 'abandoned')`;
  const older = `${oneOfFew('sweep_id', ended)} AND sweep_id < (SELECT MAX(id) FROM (${ended}) AS ended)`;
  await tx.execute(`DELETE FROM sweep_pages WHERE ${older}`, list, inboxId);
  await tx.execute(`DELETE FROM rejects WHERE ${THE_LIST} AND ${older}`, list, inboxId);
}

async function readOpenSweep(sql: Sql, key: ListKey): Promise<Sweep> {
  const [row] = await sql.query<SweepRow>(
    `SELECT id, list, inbox_id, reason, next_page, pages, items, rejected, started_at,
       NOT EXISTS (SELECT 1 FROM sweeps AS earlier WHERE earlier.list = $1 AND earlier.inbox_id IS NOT DISTINCT FROM $2 AND earlier.state = 'complete') AS baseline
     FROM sweeps WHERE ${THE_LIST} AND ${OPEN} ORDER BY id DESC LIMIT 1`,
    key.list,
    key.inboxId,
  );
  if (row === undefined) throw new Error(`no open sweep of ${key.list} ${key.inboxId ?? ''}`);
  const pages = await sql.query<{ token: string }>(
    `SELECT token FROM sweep_pages WHERE sweep_id = $1 AND token IS NOT NULL`,
    row.id,
  );
  const tokens = new Set(pages.map(({ token }) => token));
  if (row.next_page !== null) tokens.add(row.next_page);
  return {
    id: row.id,
    list: row.list,
    inboxId: row.inbox_id,
    reason: row.reason,
    nextPage: row.next_page,
    pages: row.pages,
    items: row.items,
    rejected: row.rejected,
    startedAt: row.started_at,
    baseline: Boolean(row.baseline),
    walked: row.pages > 0 && row.next_page === null,
    tokens,
  };
}

/** Throws away how far the walk has come, not what it has applied: the next page is the first again. */
export async function restartSweep(database: Database, fence: Fence, sweep: Sweep): Promise<Sweep> {
  return await database.transaction(async (tx) => {
    await fence(tx);
    await tx.execute(
      `UPDATE sweeps SET next_page = NULL, pages = 0, items = 0, rejected = 0 WHERE id = $1`,
      sweep.id,
    );
    await tx.execute(`DELETE FROM sweep_pages WHERE sweep_id = $1`, sweep.id);
    await tx.execute(
      `DELETE FROM rejects WHERE ${THE_LIST} AND sweep_id = $3`,
      sweep.list,
      sweep.inboxId,
      sweep.id,
    );
    return await readOpenSweep(tx, sweep);
  });
}

/** Ends a sweep that is not complete: `paused` keeps its token for the next pass, `failed` and `abandoned` do not go on. */
export async function endSweep(
  database: Database,
  fence: Fence,
  sweepId: number,
  state: 'paused' | 'failed',
  error: string,
  now: number,
): Promise<void> {
  const finished = state === 'paused' ? null : iso(now);
  await database.transaction(async (tx) => {
    await fence(tx);
    await tx.execute(
      `UPDATE sweeps SET state = $2, error = $3, heartbeat_at = $4, finished_at = $5 WHERE id = $1 AND state = 'running'`,
      sweepId,
      state,
      error,
      iso(now),
      finished,
    );
  });
}

/** Gives up the open sweeps of a list, so that the next one begins at the first page. */
export async function abandonSweeps(
  database: Database,
  fence: Fence,
  key: ListKey,
  begunBefore: Date,
  now: number,
): Promise<void> {
  await database.transaction(async (tx) => {
    await fence(tx);
    await tx.execute(
      `UPDATE sweeps SET state = 'abandoned', finished_at = $3, error = 'a full resync began anew' WHERE ${THE_LIST} AND ${OPEN} AND started_at < $4`,
      key.list,
      key.inboxId,
      iso(now),
      begunBefore.toISOString(),
    );
  });
}

/** Marks the sweep complete and drops what only older sweeps needed: pages before the last two complete ones, rejects before this one. */
export async function completeSweep(
  tx: Sql,
  { oneOfFew }: Dialect,
  sweep: ListKey & { readonly id: number },
  now: number,
): Promise<void> {
  await tx.execute(
    `UPDATE sweeps SET state = 'complete', finished_at = $2, heartbeat_at = $2, error = NULL WHERE id = $1`,
    sweep.id,
    iso(now),
  );
  await tx.execute(
    `DELETE FROM sweep_pages WHERE ${oneOfFew(
      'sweep_id',
      `SELECT id FROM sweeps WHERE ${sinceComplete(3)} AND id NOT IN (
         SELECT id FROM sweeps WHERE ${THE_LIST} AND state = 'complete' ORDER BY id DESC LIMIT 2)`,
    )}`,
    sweep.list,
    sweep.inboxId,
  );
  await tx.execute(
    `DELETE FROM rejects WHERE ${THE_LIST} AND sweep_id <> $3`,
    sweep.list,
    sweep.inboxId,
    sweep.id,
  );
}

/** When the list was last complete, and how many rows it had then: what the next sweep of it will cost. */
export async function lastComplete(
  sql: Sql,
  key: ListKey,
): Promise<{ finishedAt: Date; items: number } | null> {
  const [row] = await sql.query<{ finished_at: Date; items: number }>(
    `SELECT finished_at, items FROM sweeps WHERE ${THE_LIST} AND state = 'complete' ORDER BY id DESC LIMIT 1`,
    key.list,
    key.inboxId,
  );
  return row === undefined ? null : { finishedAt: row.finished_at, items: row.items };
}
