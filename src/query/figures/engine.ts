import { DAY } from '../../core/clock.ts';
import { iso } from '../../database/instants.ts';
import type { Read } from './lane.ts';

/** At most this many orders, and this many errors of each kind, on a page. */
const MOST_ORDERS = 8;
const MOST_ERRORS = 10;

/** A pass that a command handed to the daemon. Instants are ISO 8601 UTC. */
export interface OrderRow {
  readonly id: number;
  readonly kind: string;
  readonly state: string;
  readonly inbox_id: string | null;
  readonly inbox: string | null;
  readonly requested_by: string;
  readonly requested_at: string;
  readonly finished_at: string | null;
  readonly error: string | null;
}

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
  return await read<OrderRow>(
    `SELECT orders.id, orders.kind, orders.state, orders.inbox_id, inboxes.display_name AS inbox,
       orders.requested_by, orders.requested_at, orders.finished_at, orders.error
     FROM sync_requests AS orders LEFT JOIN inboxes ON inboxes.id = orders.inbox_id
     WHERE orders.ordered ORDER BY orders.id DESC LIMIT ${MOST_ORDERS}`,
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
