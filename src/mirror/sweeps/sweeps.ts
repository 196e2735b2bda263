import type { ErrorCode } from '../../core/errors.ts';
import type { Reason } from '../../core/ledger.ts';
import type { ListKey, ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso, isoOrNull } from '../../database/instants.ts';
import { layBookmarks } from '../bookmarks/lay.ts';
import { abandonRound } from '../bookmarks/rounds.ts';
import { forgetListedReplaced } from '../gate/account.ts';
import type { FencedDatabase } from '../lease.ts';
import { refuseEnded } from './ended.ts';
import { SweepReader } from './reader.ts';
import { ANY_SWEEP, OPEN_SWEEP } from './states.ts';

/** A sweep and its progress. */
export interface Sweep extends ListKey {
  readonly id: number;
  readonly reason: Reason;
  /** The token of the next page; null for the first page, and after the last one. */
  readonly nextPage: string | null;
  /** Pages applied. */
  readonly pages: number;
  /** How often the walk began again at its first page, in all runs. */
  readonly restarts: number;
  readonly items: number;
  readonly rejected: number;
  /** Rejected rows without a readable id. */
  readonly withoutId: number;
  readonly startedAt: Date;
  /** True if no sweep of the list was ever complete: this one sets the baseline and writes no changes. */
  readonly baseline: boolean;
  /** True if every page is applied; only suspects remain to be settled. */
  readonly walked: boolean;
  /** The tokens that this walk used or received: a repeated one means an endless list. */
  readonly tokens: Set<string>;
}

interface SweepRow {
  id: number;
  list: ListName;
  inbox_id: string | null;
  reason: Reason;
  next_page: string | null;
  pages: number;
  restarts: number;
  items: number;
  rejected: number;
  without_id: number;
  started_at: Date;
  baseline: number;
}

const OPEN = `state IN ${OPEN_SWEEP}`;
const THE_LIST = `list = $1 AND inbox_id IS NOT DISTINCT FROM $2`;

/**
 * A condition for a list's sweeps (`$1` list, `$2` inbox): the `nth` last complete one (1 is the last) and
 * all later ones. It names every state, so that the index of list, inbox and state finds them by id among
 * years of sweeps.
 */
export function sinceComplete(nth: number): string {
  return `${THE_LIST} AND state IN ${ANY_SWEEP}
    AND id >= COALESCE((SELECT id FROM sweeps WHERE ${THE_LIST} AND state = 'complete'
      ORDER BY id DESC LIMIT 1 OFFSET ${nth - 1}), 0)`;
}

/** Why a sweep stopped. */
interface SweepError {
  readonly error: string;
  readonly code: ErrorCode | null;
  /** The service asked for no request before this time. Default: it did not ask. */
  readonly retryAt?: Date | null;
}

/** Writes sweeps, for the holder of the lease. */
export class Sweeps extends SweepReader {
  readonly #fenced: FencedDatabase;

  constructor(fenced: FencedDatabase) {
    super(fenced.database);
    this.#fenced = fenced;
  }

  /** Resumes the list's open sweep, or begins one. */
  async open(key: ListKey, reason: Reason, now: number): Promise<Sweep> {
    return await this.#fenced.write(async (tx) => {
      const resumed = await tx.execute(
        `UPDATE sweeps SET state = 'running', error = NULL, error_code = NULL, retry_at = NULL,
           heartbeat_at = $3
         WHERE ${THE_LIST} AND ${OPEN}`,
        key.list,
        key.inboxId,
        iso(now),
      );
      if (resumed === 0) {
        await dropFailed(tx, this.#fenced.database.dialect, key);
        await tx.execute(
          `INSERT INTO sweeps (list, inbox_id, reason, state, started_at, heartbeat_at)
           VALUES ($1, $2, $4, 'running', $3, $3)`,
          key.list,
          key.inboxId,
          iso(now),
          reason,
        );
      }
      return await readOpenSweep(tx, key);
    });
  }

  /**
   * Restarts the walk at the first page. Applied rows stay.
   * @param startedAt the sweep's new start, epoch ms; without it, the start stays and `restarts` grows by one
   */
  async restart(sweep: Sweep, startedAt?: number): Promise<Sweep> {
    return await this.#fenced.write(async (tx) => {
      await refuseEnded(tx, sweep);
      await tx.execute(
        `UPDATE sweeps SET next_page = NULL, pages = 0, items = 0, rejected = 0, without_id = 0,
           restarts = restarts + $2, started_at = $3
         WHERE id = $1`,
        sweep.id,
        startedAt === undefined ? 1 : 0,
        iso(startedAt ?? sweep.startedAt.getTime()),
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

  /**
   * Stops a running sweep that is not complete. The next pass resumes a `paused` sweep; no pass resumes a
   * `failed` one.
   */
  async end(
    sweepId: number,
    state: 'paused' | 'failed',
    { error, code, retryAt = null }: SweepError,
    now: number,
  ): Promise<void> {
    const finished = state === 'paused' ? null : iso(now);
    await this.#fenced.write(async (tx) => {
      await tx.execute(
        `UPDATE sweeps SET state = $2, error = $3, heartbeat_at = $4, finished_at = $5, error_code = $6,
           retry_at = $7
         WHERE id = $1 AND state = 'running'`,
        sweepId,
        state,
        error,
        iso(now),
        finished,
        code,
        isoOrNull(retryAt),
      );
    });
  }

  /** True if a sweep from before a pass has read all pages of the list, and only its questions are left. */
  async isWalked({ list, inboxId }: ListKey, passId: number): Promise<boolean> {
    const found = await this.#fenced.database.query(
      `SELECT id FROM sweeps WHERE ${THE_LIST} AND ${OPEN} AND pages > 0 AND next_page IS NULL
         AND started_at < (SELECT started_at FROM sync_requests WHERE id = $3)`,
      list,
      inboxId,
      passId,
    );
    return found.length > 0;
  }

  /** Abandons the list's open sweeps that began before a pass. The next one begins at the first page. */
  async abandon(key: ListKey, passId: number, now: number): Promise<void> {
    const beforeThePass = 'started_at < (SELECT started_at FROM sync_requests WHERE id = $4)';
    await this.#fenced.write((tx) => abandonOpen(tx, key, now, beforeThePass, passId));
  }

  /** Abandons an open sweep and begins one at the first page. */
  async replace(sweep: Sweep, reason: Reason, now: number): Promise<Sweep> {
    await this.#fenced.write((tx) => abandonOpen(tx, sweep, now, 'id = $4', sweep.id));
    return await this.open(sweep, reason, now);
  }

  /** Completes a sweep whose suspects are settled or wait for their second witness. */
  async complete(sweep: Sweep, now: number): Promise<void> {
    await this.#fenced.write((tx) => completeSweep(tx, this.#fenced.database.dialect, sweep, now));
  }
}

async function abandonOpen(
  tx: Sql,
  { list, inboxId }: ListKey,
  now: number,
  which: string,
  id: number,
): Promise<void> {
  await tx.execute(
    `UPDATE sweeps SET state = 'abandoned', finished_at = $3,
       error = 'replaced by a sweep from the first page'
     WHERE ${THE_LIST} AND ${OPEN} AND ${which}`,
    list,
    inboxId,
    iso(now),
    id,
  );
}

/**
 * Deletes pages and rejects of the sweeps that failed or were abandoned since the last complete one, except
 * the newest. A list that never completes must not fill the disk.
 */
async function dropFailed(tx: Sql, { oneOfFew }: Dialect, { list, inboxId }: ListKey): Promise<void> {
  const ended = `SELECT id FROM sweeps WHERE ${sinceComplete(1)} AND state IN ('failed', 'abandoned')`;
  const older = `${oneOfFew('sweep_id', ended)} AND sweep_id < (SELECT MAX(id) FROM (${ended}) AS ended)`;
  await tx.execute(`DELETE FROM sweep_pages WHERE ${older}`, list, inboxId);
  await tx.execute(`DELETE FROM rejects WHERE ${THE_LIST} AND ${older}`, list, inboxId);
}

async function readOpenSweep(sql: Sql, key: ListKey): Promise<Sweep> {
  const [row] = await sql.query<SweepRow>(
    `SELECT id, list, inbox_id, reason, next_page, pages, restarts, items, rejected, without_id,
       started_at,
       NOT EXISTS (SELECT 1 FROM sweeps AS earlier
         WHERE earlier.list = $1 AND earlier.inbox_id IS NOT DISTINCT FROM $2
           AND earlier.state = 'complete') AS baseline
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
    restarts: row.restarts,
    items: row.items,
    rejected: row.rejected,
    withoutId: row.without_id,
    startedAt: row.started_at,
    baseline: Boolean(row.baseline),
    walked: row.pages > 0 && row.next_page === null,
    tokens,
  };
}

/**
 * Marks the sweep complete and lays the list's bookmarks. Deletes pages of all but the last two complete
 * sweeps, and older rejects.
 */
async function completeSweep(tx: Sql, dialect: Dialect, sweep: Sweep, now: number): Promise<void> {
  await refuseEnded(tx, sweep);
  if (sweep.list === 'conversations') await abandonRound(tx, sweep.inboxId, now);
  await tx.execute(
    `UPDATE sweeps SET state = 'complete', finished_at = $2, heartbeat_at = $2,
       error = NULL, error_code = NULL
     WHERE id = $1`,
    sweep.id,
    iso(now),
  );
  if (sweep.list === 'conversations')
    await tx.execute(
      `UPDATE inboxes SET known_since = $2 WHERE id = $1 AND known_since IS NULL`,
      sweep.inboxId,
      iso(now),
    );
  // A row without a readable id may be any inbox: `missing_since` does not tell then which ones the list has.
  if (sweep.list === 'inboxes' && sweep.withoutId === 0) await forgetListedReplaced(tx);
  await layBookmarks(tx, dialect, sweep, now);
  await tx.execute(
    `DELETE FROM sweep_pages WHERE ${dialect.oneOfFew(
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
