import type { ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import type { LatestSweep } from '../sweeps/latest.ts';
import type { Order } from './orders.ts';

/** A sweep as somebody sees it who follows an order from another process. */
export interface OrderSweep extends ListKey {
  readonly id: number;
  readonly state: LatestSweep['state'];
  readonly pages: number;
  readonly items: number;
  readonly inserted: number;
  readonly changed: number;
  readonly deleted: number;
  readonly rejected: number;
  readonly startedAt: Date;
  readonly error: string | null;
}

/**
 * The id below which no sweep can have a part in the order: years of sweeps are looked through once here, not with every look at its
 * progress.
 */
export async function firstSweepOf(sql: Sql, { startedAt, requestedAt }: Order): Promise<number> {
  const [row] = await sql.query<{ first: number | null; next: number | null }>(
    `SELECT (SELECT min(id) FROM sweeps WHERE state IN ('running', 'paused') OR heartbeat_at >= $1) AS first, (SELECT max(id) + 1 FROM sweeps) AS next`,
    iso((startedAt ?? requestedAt).getTime()),
  );
  return row?.first ?? row?.next ?? 0;
}

/** The sweeps that did anything since the order was begun, oldest first. */
export async function sweepsSince(sql: Sql, begun: Date, firstId: number): Promise<OrderSweep[]> {
  return await sql.query<OrderSweep>(
    `SELECT id, list, inbox_id AS "inboxId", state, pages, items, inserted, changed, deleted, rejected, started_at AS "startedAt", error
     FROM sweeps WHERE id >= $1 AND heartbeat_at >= $2 ORDER BY id`,
    firstId,
    iso(begun.getTime()),
  );
}

/** Requests that were sent for people between two instants: those of an order, while it was under way. */
export async function countOrdered(sql: Sql, from: Date, to: Date): Promise<number> {
  const [row] = await sql.query<{ sent: number }>(
    `SELECT count(*) AS sent FROM requests WHERE sent_at >= $1 AND sent_at <= $2 AND reason <> 'schedule'`,
    iso(from.getTime()),
    iso(to.getTime()),
  );
  return row?.sent ?? 0;
}
