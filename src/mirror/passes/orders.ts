import { LIST_NAMES, type ListName } from '../../core/lists.ts';
import type { Database, Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import type { PassSpec } from './passes.ts';

/** A pass that somebody handed to the daemon, which begins it and sees it through. */
export interface Order extends PassSpec {
  readonly id: number;
  readonly state: 'open' | 'running' | 'done' | 'failed' | 'abandoned';
  readonly requestedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly error: string | null;
  /** What `endPass` was given, once it has ended. */
  readonly report: unknown;
}

interface OrderRow {
  id: number;
  kind: PassSpec['kind'];
  lists: ListName[];
  inbox_id: string | null;
  accept_deletes: boolean;
  state: Order['state'];
  requested_by: string;
  requested_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  error: string | null;
  report: unknown;
}

const ALL = `SELECT id, kind, lists, inbox_id, accept_deletes, state, requested_by, requested_at, started_at, finished_at, error, report FROM sync_requests`;

/**
 * Hands a pass to the daemon. Where the very same one is waiting or under way already, that is the one: nothing is read twice.
 * Needs no lease: whoever orders is not the writer.
 */
export async function placeOrder(
  database: Database,
  spec: PassSpec,
  now: number,
): Promise<{ id: number; joined: boolean }> {
  const lists = JSON.stringify(LIST_NAMES.filter((list) => spec.lists.includes(list)));
  const scope = [spec.kind, lists, spec.inboxId, spec.acceptDeletes];
  const same = `ordered AND state IN ('open', 'running') AND kind = $1 AND lists = $2 AND inbox_id IS NOT DISTINCT FROM $3 AND accept_deletes = $4`;
  return await database.transaction(async (tx) => {
    // The write comes first: a transaction that has only read could not begin to write beside the daemon.
    const [placed] = await tx.query<{ id: number }>(
      `INSERT INTO sync_requests (kind, lists, inbox_id, accept_deletes, ordered, state, requested_by, requested_at)
       SELECT $1, $2, $3, $4, $5, 'open', $6, $7 WHERE NOT EXISTS (SELECT 1 FROM sync_requests WHERE ${same}) RETURNING id`,
      ...scope,
      true,
      spec.requestedBy,
      iso(now),
    );
    if (placed !== undefined) return { id: placed.id, joined: false };
    const [there] = await tx.query<{ id: number }>(
      `SELECT id FROM sync_requests WHERE ${same} ORDER BY id LIMIT 1`,
      ...scope,
    );
    return { id: there?.id ?? 0, joined: true };
  }, 'orders');
}

/** The order that has waited longest, one that was begun before a restart included; null where there is none. */
export async function nextOrder(sql: Sql): Promise<Order | null> {
  const [row] = await sql.query<OrderRow>(
    `${ALL} WHERE ordered AND state IN ('open', 'running') ORDER BY id LIMIT 1`,
  );
  return row === undefined ? null : asOrder(row);
}

/** Takes back an order that nobody has begun. @returns false where it has been begun, or is over */
export async function withdrawOrder(sql: Sql, id: number, now: number): Promise<boolean> {
  const withdrawn = await sql.execute(
    `UPDATE sync_requests SET state = 'abandoned', finished_at = $2, error = 'withdrawn: no daemon was there to begin it'
     WHERE id = $1 AND ordered AND state = 'open'`,
    id,
    iso(now),
  );
  return withdrawn > 0;
}

export async function readOrder(database: Database, id: number): Promise<Order | null> {
  const row = await database.typed((client) => client.sync_requests.findUnique({ where: { id } }));
  return row === null ? null : asOrder(row as OrderRow);
}

function asOrder({
  inbox_id,
  accept_deletes,
  requested_by,
  requested_at,
  started_at,
  finished_at,
  ...row
}: OrderRow): Order {
  return {
    ...row,
    inboxId: inbox_id,
    acceptDeletes: accept_deletes,
    requestedBy: requested_by,
    requestedAt: requested_at,
    startedAt: started_at,
    finishedAt: finished_at,
    orderId: row.id,
  };
}
