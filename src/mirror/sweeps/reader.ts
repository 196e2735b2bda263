import { DAY, HOUR } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { Reason } from '../../core/ledger.ts';
import { listId, type ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { isAnswerBetween, type RequestAround, requestsAround } from '../gate/answers/around.ts';
import { isOpenSweep, type SweepState } from './states.ts';

/** A sweep, with the columns that freshness and planning need. */
export interface LatestSweep extends ListKey {
  readonly reason: Reason;
  readonly state: SweepState;
  readonly pages: number;
  /** How often it has begun again at its first page because its page tokens expire. */
  readonly restarts: number;
  /** Requests that its pages have cost, those from before a restart included. */
  readonly requests: number;
  readonly items: number;
  readonly rejected: number;
  /** Rejected rows without a readable id. */
  readonly withoutId: number;
  /** Rows that wait for a person before they are marked as deleted. */
  readonly held: number;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
  readonly finishedAt: Date | null;
  readonly error: string | null;
  readonly errorCode: ErrorCode | null;
  /** The service asked for no request before this time; null: it did not ask. */
  readonly retryAt: Date | null;
}

/** The sweeps of a list that have failed since it was last complete. */
export interface FailedSweeps {
  readonly sweeps: number;
  /** Requests that they have cost together, and that the newest has cost. */
  readonly requests: number;
  readonly lastCost: number;
  readonly lastAt: Date;
  readonly lastCode: ErrorCode | null;
}

/** A complete sweep of a list. */
interface CompleteSweep {
  readonly startedAt: Date;
  readonly finishedAt: Date;
  readonly items: number;
  readonly pages: number;
}

interface Columns {
  inbox_id: string | null;
  without_id: number;
  error_code: ErrorCode | null;
  started_at: Date;
  heartbeat_at: Date;
  finished_at: Date | null;
  retry_at: Date | null;
}

/** At most this many complete sweeps of a list are read: two days of a list swept every 15 minutes. */
const MOST_COMPLETE = 200;

/**
 * A walk is stuck if it was tried in four different hours of more than a day. Outages each night, or one
 * failure before a weekend and one after it, must not cost a first copy its place.
 */
const STUCK_MS = DAY;
const LEAST_HOURS = 4;

/** A set clock moves the start of a sweep and of its pass by the same time, rounded to a millisecond each. */
const ROUNDING_MS = 100;

/** Reads the sweeps of all lists. */
export class SweepReader {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The newest sweep of each state of every list, newest first, by `listId`. */
  async latest(): Promise<Map<string, LatestSweep[]>> {
    const rows = await this.#sql.query<
      Omit<
        LatestSweep,
        'inboxId' | 'withoutId' | 'startedAt' | 'heartbeatAt' | 'finishedAt' | 'errorCode' | 'retryAt'
      > &
        Columns
    >(
      `SELECT list, inbox_id, reason, state, pages, restarts, requests, items, rejected, without_id, held,
         started_at, heartbeat_at, finished_at, error, error_code, retry_at
       FROM sweeps WHERE id IN (SELECT max(id) FROM sweeps GROUP BY list, inbox_id, state) ORDER BY id DESC`,
    );
    const sweeps = rows.map(
      ({
        inbox_id,
        without_id,
        started_at,
        heartbeat_at,
        finished_at,
        error_code,
        retry_at,
        ...row
      }): LatestSweep => ({
        ...row,
        inboxId: inbox_id,
        withoutId: without_id,
        errorCode: error_code,
        startedAt: started_at,
        heartbeatAt: heartbeat_at,
        finishedAt: finished_at,
        retryAt: retry_at,
      }),
    );
    return Map.groupBy(sweeps, listId);
  }

  /** The list's complete sweeps, newest first: their ends, and how many rows were new, different or gone. */
  async completed({ list, inboxId }: ListKey): Promise<{ finishedAt: Date; changes: number }[]> {
    const rows = await this.#sql.query<{ finished_at: Date; changes: number }>(
      `SELECT finished_at, inserted + changed + deleted AS changes FROM sweeps
       WHERE list = $1 AND inbox_id IS NOT DISTINCT FROM $2 AND state = 'complete'
       ORDER BY id DESC LIMIT ${MOST_COMPLETE}`,
      list,
      inboxId,
    );
    return rows.map(({ finished_at, changes }) => ({ finishedAt: finished_at, changes }));
  }

  /**
   * @param latest the list's newest sweep of each state, newest first
   * @returns null if no sweep has failed since the list was last complete
   */
  async failedSweeps(
    { list, inboxId }: ListKey,
    latest: readonly LatestSweep[],
  ): Promise<FailedSweeps | null> {
    const ended = latest.filter(({ state }) => state === 'failed' || state === 'complete');
    if (newestSweep(ended)?.state !== 'failed') return null;
    const completeAt = ended.find(({ state }) => state === 'complete')?.finishedAt ?? new Date(0);
    // The request that failed is not among a sweep's requests.
    const [row] = await this.#sql.query<{
      sweeps: number;
      total: number;
      last_cost: number;
      finished_at: Date;
      error_code: ErrorCode | null;
    }>(
      `SELECT CAST(count(*) OVER () AS INTEGER) AS sweeps,
         CAST(sum(requests + 1) OVER () AS INTEGER) AS total,
         requests + 1 AS last_cost, finished_at, error_code
       FROM sweeps WHERE list = $1 AND inbox_id IS NOT DISTINCT FROM $2 AND state = 'failed'
         AND finished_at > $3
       ORDER BY id DESC LIMIT 1`,
      list,
      inboxId,
      iso(completeAt),
    );
    if (row === undefined) return null;
    return {
      sweeps: row.sweeps,
      requests: row.total,
      lastCost: row.last_cost,
      lastAt: row.finished_at,
      lastCode: row.error_code,
    };
  }

  /**
   * True if the list was last complete after a pass had begun, and no walk of it has failed since. The times
   * are read by one statement: the ledger shifts them if the clock is set during the pass.
   * @param begun `after`: that sweep must have begun since then, too
   */
  async isReadBy(passId: number, { list, inboxId }: ListKey, begun: 'any' | 'after'): Promise<boolean> {
    const [found] = await this.#sql.query<{ sweep_at: Date; pass_at: Date }>(
      `SELECT last.started_at AS sweep_at, pass.started_at AS pass_at
       FROM sweeps AS last JOIN sync_requests AS pass ON pass.id = $3
       WHERE last.id = (SELECT max(id) FROM sweeps
           WHERE list = $1 AND inbox_id IS NOT DISTINCT FROM $2 AND state = 'complete')
         AND last.finished_at >= pass.started_at
         AND NOT EXISTS (SELECT 1 FROM sweeps AS later
           WHERE later.list = last.list AND later.inbox_id IS NOT DISTINCT FROM last.inbox_id
             AND later.state = 'failed' AND later.finished_at > last.finished_at)`,
      list,
      inboxId,
      passId,
    );
    if (found === undefined) return false;
    return begun === 'any' || found.sweep_at.getTime() >= found.pass_at.getTime() - ROUNDING_MS;
  }

  /**
   * True if a walk has read no further page although it was tried for a day, and if the service has answered
   * other requests beside several of the tries: a page is broken, and those before it must not go unread for
   * as long.
   */
  async isStuck({ id, list, inboxId }: ListKey & { readonly id: number }): Promise<boolean> {
    const [last] = await this.#sql.query<{ fetched_at: Date }>(
      `SELECT fetched_at FROM sweep_pages WHERE sweep_id = $1 AND page_no > 0 ORDER BY page_no DESC LIMIT 1`,
      id,
    );
    if (last === undefined) return false;
    const isOfTheList = `(list = $2 AND inbox_id IS NOT DISTINCT FROM $3)`;
    const tries = await this.#sql.query<RequestAround>(
      `SELECT id, sent_at, before, after
       FROM ${requestsAround(`(list IS NULL OR NOT ${isOfTheList})`)}
       WHERE ${isOfTheList} AND reason NOT IN ('page', 'probe') ORDER BY id`,
      iso(last.fetched_at),
      list,
      inboxId,
    );
    const [from, to] = [tries[0]?.sent_at.getTime() ?? 0, tries.at(-1)?.sent_at.getTime() ?? 0];
    if (to - from < STUCK_MS) return false;
    const beside = tries.filter((one, nth) => nth > 0 && isAnswerBetween(tries[nth - 1]!, one));
    return (
      new Set(beside.map(({ sent_at: sentAt }) => Math.floor(sentAt.getTime() / HOUR))).size >= LEAST_HOURS
    );
  }

  /** The last complete sweep of the list; null if there is none. */
  async lastComplete({ list, inboxId }: ListKey): Promise<CompleteSweep | null> {
    const [row] = await this.#sql.query<{
      started_at: Date;
      finished_at: Date;
      items: number;
      pages: number;
    }>(
      `SELECT started_at, finished_at, items, pages FROM sweeps
       WHERE list = $1 AND inbox_id IS NOT DISTINCT FROM $2 AND state = 'complete' ORDER BY id DESC LIMIT 1`,
      list,
      inboxId,
    );
    if (row === undefined) return null;
    const { started_at: startedAt, finished_at: finishedAt, items, pages } = row;
    return { startedAt, finishedAt, items, pages };
  }
}

/**
 * The sweep that tells how a list stands: the open one, or else the one that ended last. Single pages that
 * are being read tell nothing yet; they began before many a walk that ends before them.
 * @param sweeps of one list, newest first
 */
export function newestSweep<Of extends Pick<LatestSweep, 'state' | 'finishedAt'>>(
  sweeps: readonly Of[],
): Of | undefined {
  const endOf = ({ finishedAt }: Of): number => finishedAt?.getTime() ?? 0;
  const ended = sweeps.filter(({ state }) => state !== 'reading').toSorted((a, b) => endOf(b) - endOf(a));
  return sweeps.find(isOpenSweep) ?? ended[0];
}

/** The sweep in progress and the last complete one among a list's sweeps, newest first. */
export function openAndComplete(sweeps: readonly LatestSweep[]): {
  open: LatestSweep | undefined;
  complete: LatestSweep | undefined;
} {
  return {
    open: sweeps.find(isOpenSweep),
    complete: sweeps.find(({ state }) => state === 'complete'),
  };
}
