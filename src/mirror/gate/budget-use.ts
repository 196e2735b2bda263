import { BUDGET_WINDOW_MS } from '../../core/budget.ts';
import { HOUR } from '../../core/clock.ts';
import { type BudgetLeft, type LedgerRow, type Reason, SCHEDULED_REASONS } from '../../core/ledger.ts';
import type { ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';

/** The requests in the window of the day's budget. */
export interface WindowByHour {
  readonly sent: number;
  /** Requests that leave the window in each of the next 24 hours. */
  readonly leaving: readonly number[];
}

/** The requests of one reason for one kind of list; `list` is null for requests that concern none. */
export interface SpentKind {
  readonly reason: Reason;
  readonly list: ListName | null;
  /** In which of the next 24 hours they leave the window, from 0. The last one has later ones too. */
  readonly hour: number;
  readonly requests: number;
}

/** A condition: schedules alone have caused the request. */
export const IS_SCHEDULED = `reason IN (${SCHEDULED_REASONS.map((reason) => `'${reason}'`).join(', ')})`;

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/**
 * Counts the hours one by one, which the index answers, and the requests of a later time: a clock may be set
 * back. `$1` is the window's start, each further parameter an hour later.
 */
const WINDOW_BY_HOUR = `SELECT (SELECT count(*) FROM requests WHERE sent_at > $25) AS later, ${HOURS.map(
  (hour) => `(SELECT count(*) FROM requests
    WHERE sent_at > $${hour + 1} AND sent_at <= $${hour + 2}) AS hour_${hour}`,
).join(', ')}`;

/** The hour in which a request leaves the window. The parameters are those of `WINDOW_BY_HOUR`. */
const LEAVES_IN_HOUR = HOURS.map((hour) =>
  hour === HOURS.length - 1 ? `ELSE ${hour}` : `WHEN sent_at <= $${hour + 2} THEN ${hour}`,
).join(' ');

/** Counts requests against the day's budget. */
export class BudgetReader {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Requests in the window that ends at `now` (epoch ms). */
  async sentInWindow(now: number): Promise<number> {
    return await this.sentSince(now - BUDGET_WINDOW_MS);
  }

  /** Requests since an instant, epoch ms. */
  async sentSince(since: number): Promise<number> {
    const [row] = await this.#sql.query<{ sent: number }>(
      `SELECT count(*) AS sent FROM requests WHERE sent_at > $1`,
      iso(since),
    );
    return row?.sent ?? 0;
  }

  /** True if the ledger has this row: it then has all earlier ones of the ledger that the row comes from. */
  async hasRow({ id, sentAt }: LedgerRow): Promise<boolean> {
    const rows = await this.#sql.query(
      `SELECT id FROM requests WHERE id = $1 AND sent_at = $2`,
      id,
      iso(sentAt),
    );
    return rows.length > 0;
  }

  /** Counts the requests in the window that ends at `now` (epoch ms), by the hour in which they leave it. */
  async windowByHour(now: number): Promise<WindowByHour> {
    const start = now - BUDGET_WINDOW_MS;
    const [row] = await this.#sql.query<Record<string, number>>(
      WINDOW_BY_HOUR,
      ...[...HOURS, HOURS.length].map((hour) => iso(start + hour * HOUR)),
    );
    const leaving = HOURS.map((hour) => row?.[`hour_${hour}`] ?? 0);
    return { sent: leaving.reduce((sum, requests) => sum + requests, row?.['later'] ?? 0), leaving };
  }

  /** Requests that scheduled work has sent since an instant, epoch ms. */
  async scheduledSince(since: number): Promise<number> {
    const [row] = await this.#sql.query<{ sent: number }>(
      `SELECT count(*) AS sent FROM requests WHERE sent_at > $1 AND (${IS_SCHEDULED} OR reason = 'probe')`,
      iso(since),
    );
    return row?.sent ?? 0;
  }

  /**
   * Counts the requests in the window that ends at `now` (epoch ms) by reason, list and hour.
   * @param counted only these many, the first ones of the ledger: the caller has counted them before
   */
  async byKind(now: number, counted: number | null = null): Promise<SpentKind[]> {
    const start = now - BUDGET_WINDOW_MS;
    return await this.#sql.query<SpentKind>(
      `SELECT reason, list, CASE ${LEAVES_IN_HOUR} END AS hour, count(*) AS requests
       FROM (SELECT reason, list, sent_at FROM requests WHERE sent_at > $1
         ${counted === null ? '' : `ORDER BY sent_at, id LIMIT $${HOURS.length + 1}`}) AS counted
       GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      ...HOURS.map((hour) => iso(start + hour * HOUR)),
      ...(counted === null ? [] : [counted]),
    );
  }

  /**
   * When the oldest `count` requests of the window that ends at `now` will have left it, or all of them if
   * it holds fewer. Returns `now` if it holds none.
   */
  async leavesWindowAt(count: number, now: number): Promise<Date> {
    const since = now - BUDGET_WINDOW_MS;
    const nth = Math.max(1, Math.min(count, await this.sentSince(since)));
    const [row] = await this.#sql.query<{ sent_at: Date }>(
      `SELECT sent_at FROM requests WHERE sent_at > $1 ORDER BY sent_at LIMIT 1 OFFSET $2`,
      iso(since),
      nth - 1,
    );
    return new Date((row?.sent_at.getTime() ?? since) + BUDGET_WINDOW_MS);
  }

  /** See `Ledger.budgetLeft`. */
  async budgetLeft(cap: number, now: number): Promise<BudgetLeft> {
    const sent = await this.sentInWindow(now);
    // Nothing leaves an empty window, and a cap below 1 never allows a request.
    if (cap < 1 || sent === 0) return { left: cap - sent, freesInMs: BUDGET_WINDOW_MS };
    const frees = await this.leavesWindowAt(sent - cap + 1, now);
    return { left: cap - sent, freesInMs: frees.getTime() - now };
  }
}
