import { DAY } from '../../core/clock.ts';
import { iso } from '../../database/instants.ts';
import type { Read } from './lane.ts';

/** At most this many orders, and this many errors of each kind, on a page. */
const MOST_ORDERS = 8;
const MOST_ERRORS = 10;

/** At most this many sweeps on an order's page. */
const MOST_SWEEPS = 200;

/** Later than any instant of the mirror. */
const END_OF_TIME = '9999-12-31T00:00:00.000+00:00';

/**
 * A pass that the daemon is asked to do, by a command or by the form of the web pages.
 * Instants are ISO 8601 UTC.
 */
export interface OrderRow {
  readonly id: number;
  readonly kind: string;
  readonly state: string;
  readonly inbox_id: string | null;
  readonly inbox: string | null;
  readonly requested_by: string;
  readonly requested_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly error: string | null;
  /** Orders that must end before this one begins. */
  readonly before: number;
}

/** A sweep while an order was under way. */
export interface OrderSweepRow {
  readonly list: string;
  readonly inbox_id: string | null;
  readonly inbox: string | null;
  readonly state: string;
  readonly pages: number;
  readonly items: number;
  readonly inserted: number;
  readonly changed: number;
  readonly deleted: number;
  readonly error: string | null;
}

/** SQL: orders with the names of their inboxes. */
const ORDERS = `SELECT orders.id, orders.kind, orders.state, orders.inbox_id, inboxes.display_name AS inbox,
    orders.requested_by, orders.requested_at, orders.started_at, orders.finished_at, orders.error,
    CAST((SELECT count(*) FROM sync_requests AS earlier WHERE earlier.ordered AND earlier.id < orders.id
      AND earlier.state IN ('open', 'running')) AS INTEGER) AS before
  FROM sync_requests AS orders LEFT JOIN inboxes ON inboxes.id = orders.inbox_id`;

/** A request or a sweep that failed. */
export interface FailureRow {
  readonly at: string;
  readonly list: string | null;
  readonly inbox_id: string | null;
  readonly inbox: string | null;
  /** The HTTP status; null without an answer, and for a sweep. */
  readonly status: number | null;
  readonly error: string | null;
}

/** The newest orders, the newest first. */
export async function readOrders(read: Read): Promise<OrderRow[]> {
  return await read<OrderRow>(`${ORDERS} WHERE orders.ordered ORDER BY orders.id DESC LIMIT ${MOST_ORDERS}`);
}

/** An order; null if there is none with this id. */
export async function readOrder(read: Read, id: number): Promise<OrderRow | null> {
  const [order] = await read<OrderRow>(`${ORDERS} WHERE orders.ordered AND orders.id = $1`, id);
  return order ?? null;
}

/** The sweeps of whole lists that were active while the order was under way, the newest first. */
export async function readOrderSweeps(
  read: Read,
  { started_at: begun, finished_at: ended }: OrderRow,
): Promise<OrderSweepRow[]> {
  if (begun === null) return [];
  return await read<OrderSweepRow>(
    `SELECT sweeps.list, sweeps.inbox_id, inboxes.display_name AS inbox, sweeps.state, sweeps.pages,
       sweeps.items, sweeps.inserted, sweeps.changed, sweeps.deleted, sweeps.error
     FROM sweeps LEFT JOIN inboxes ON inboxes.id = sweeps.inbox_id
     WHERE sweeps.heartbeat_at >= $1 AND sweeps.started_at <= $2 AND sweeps.reason <> 'schedule'
     ORDER BY sweeps.id DESC LIMIT ${MOST_SWEEPS}`,
    begun,
    ended ?? END_OF_TIME,
  );
}

/**
 * The newest requests of the last 24 hours that failed, the newest first. A 404 is an answer: the item is
 * gone.
 * @param now epoch ms
 */
export async function readFailedRequests(read: Read, now: number): Promise<FailureRow[]> {
  return await read<FailureRow>(
    `SELECT requests.sent_at AS at, requests.list, requests.inbox_id, inboxes.display_name AS inbox,
       requests.status, requests.error
     FROM requests LEFT JOIN inboxes ON inboxes.id = requests.inbox_id
     WHERE requests.sent_at > $1 AND (requests.status >= 400 OR requests.error IS NOT NULL)
       AND coalesce(requests.status, 0) <> 404
     ORDER BY requests.sent_at DESC LIMIT ${MOST_ERRORS}`,
    iso(now - DAY),
  );
}

/** The newest sweeps that failed, the newest first. */
export async function readFailedSweeps(read: Read): Promise<FailureRow[]> {
  return await read<FailureRow>(
    `SELECT coalesce(sweeps.finished_at, sweeps.heartbeat_at) AS at, sweeps.list, sweeps.inbox_id,
       inboxes.display_name AS inbox, NULL AS status, sweeps.error
     FROM sweeps LEFT JOIN inboxes ON inboxes.id = sweeps.inbox_id
     WHERE sweeps.state = 'failed' ORDER BY sweeps.id DESC LIMIT ${MOST_ERRORS}`,
  );
}
