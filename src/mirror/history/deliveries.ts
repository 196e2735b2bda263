import { createHash } from 'node:crypto';
import type { Sql } from '../../database/database.ts';
import { iso, isoOrNull } from '../../database/instants.ts';
import type { FencedDatabase } from '../lease.ts';
import { cursorAt, cursorText, newestCursor } from './cursor.ts';
import type { ChangeRecord } from './read.ts';

/** How far the webhook has delivered the changes to one target. */
export interface Delivery {
  /** The id of the last change that the target accepted. */
  readonly lastId: number;
  /** Failed deliveries in a row; 0 after a successful one. */
  readonly failures: number;
  readonly retryAt: Date | null;
  /** The reason of the last failure. */
  readonly cause: string | null;
  /** How many changes the target refused alone while it accepted another, and the newest of them. */
  readonly setAside: number;
  readonly setAsideId: number | null;
}

/** Changes that were sent to a target: those after the id `afterId`, up to `last`. */
export interface Sent {
  readonly afterId: number;
  readonly last: Pick<ChangeRecord, 'id' | 'cursor'>;
}

/**
 * The name of a webhook's target: a hash of its origin and path. The query may hold a token, and a renewed
 * token leads to the same receiver.
 */
export function targetOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return hashOf(`${origin}${pathname}`);
}

/** The name that earlier versions gave the target: a hash of its whole address. */
export function wholeTargetOf(url: string): string {
  return hashOf(url);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The state of the webhook's deliveries. */
export class DeliveryReader {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Counts the changes that wait for a target; 0 for a new one, which gets no earlier changes. */
  async countPending(target: string): Promise<number> {
    const [row] = await this.#sql.query<{ n: number }>(
      `SELECT count(*) AS n FROM changes WHERE id > (SELECT last_id FROM webhooks WHERE target = $1)`,
      target,
    );
    return row?.n ?? 0;
  }

  /** The state of the deliveries to a target; null for a new target. */
  async read(target: string): Promise<Delivery | null> {
    const [row] = await this.#sql.query<{
      last_id: number;
      failures: number;
      retry_at: Date | null;
      cause: string | null;
      set_aside: number;
      set_aside_id: number | null;
    }>(
      `SELECT last_id, failures, retry_at, cause, set_aside, set_aside_id FROM webhooks WHERE target = $1`,
      target,
    );
    if (row === undefined) return null;
    const { failures, cause } = row;
    const { last_id: lastId, retry_at: retryAt, set_aside: setAside, set_aside_id: setAsideId } = row;
    return { lastId, failures, retryAt, cause, setAside, setAsideId };
  }

  /**
   * Ends the wait of a target after a failed delivery. Any process may do so: the daemon reads it within a
   * minute.
   * @returns false if nothing waits
   */
  async endWait(target: string, now: number): Promise<boolean> {
    const ended = await this.#sql.execute(
      `UPDATE webhooks SET retry_at = $2 WHERE target = $1 AND retry_at > $2`,
      target,
      iso(now),
    );
    return ended > 0;
  }
}

/** The webhook's deliveries, for the holder of the lease. */
export class Deliveries extends DeliveryReader {
  readonly #fenced: FencedDatabase;

  constructor(fenced: FencedDatabase) {
    super(fenced.database);
    this.#fenced = fenced;
  }

  /**
   * Writes how far the changes are delivered to a target. Nothing is written if the database has lost those
   * that were sent: a server can fail over to a copy without the newest changes while they are on their way.
   * @param sent what was sent; absent: nothing
   * @returns false if nothing was written
   */
  async write(target: string, delivery: Delivery, now: number, sent?: Sent): Promise<boolean> {
    const { lastId, failures, retryAt, cause, setAside, setAsideId } = delivery;
    return await this.#fenced.write(async (tx) => {
      if (sent !== undefined && !(await isStillThere(tx, target, sent))) return false;
      await tx.execute(
        `INSERT INTO webhooks (target, last_id, failures, retry_at, cause, updated_at, set_aside,
           set_aside_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (target) DO UPDATE SET last_id = excluded.last_id, failures = excluded.failures,
           retry_at = excluded.retry_at, cause = excluded.cause, updated_at = excluded.updated_at,
           set_aside = excluded.set_aside, set_aside_id = excluded.set_aside_id`,
        target,
        lastId,
        failures,
        isoOrNull(retryAt),
        cause,
        iso(now),
        setAside,
        setAsideId,
      );
      return true;
    });
  }
}

async function isStillThere(tx: Sql, target: string, { afterId, last }: Sent): Promise<boolean> {
  const [row] = await tx.query<{ last_id: number }>(`SELECT last_id FROM webhooks WHERE target = $1`, target);
  // The changes may have been read from another copy than the place was: some before them were not sent.
  if (row !== undefined && row.last_id !== afterId) return false;
  const { id: newest } = await newestCursor(tx);
  return last.id <= newest && cursorText(await cursorAt(tx, last.id)) === last.cursor;
}
