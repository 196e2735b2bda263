import type { ListName } from '../../core/lists.ts';
import type { Database } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import type { PassSpec } from './passes.ts';
import { listsText } from './scope.ts';
import { OPEN_PASS, type PassState } from './states.ts';

/** A pass that the daemon is asked to do, by a command or by the form of the web pages. */
export interface Order extends PassSpec {
  readonly id: number;
  /** Of a consent to another account: the access of its command (`accessId`); else null. */
  readonly access: string | null;
  readonly state: PassState;
  readonly requestedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly error: string | null;
  /** The pass's report (`Passes.end`); null until the pass ends. */
  readonly report: unknown;
}

interface OrderRow {
  id: number;
  kind: PassSpec['kind'];
  lists: ListName[];
  inbox_id: string | null;
  accept_deletes: boolean;
  accept_account: boolean;
  accept_access: string | null;
  state: Order['state'];
  requested_by: string;
  requested_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  error: string | null;
  report: unknown;
}

const ALL = `SELECT id, kind, lists, inbox_id, accept_deletes, accept_account, accept_access, state,
  requested_by, requested_at, started_at, finished_at, error, report FROM sync_requests`;

/** The error of an order that its command took back. */
const WITHDRAWN = 'withdrawn: no daemon began it';

/** True if the command that placed an order took it back. */
export function isWithdrawn({ state, error }: Pick<Order, 'state' | 'error'>): boolean {
  return state === 'abandoned' && error === WITHDRAWN;
}

/** The error of an order that a person cancelled. */
const CANCELLED = 'a person cancelled it';

/** True if a person cancelled the order, before or after a daemon began it. */
export function isCancelled({ state, error }: Pick<Order, 'state' | 'error'>): boolean {
  return state === 'abandoned' && error === CANCELLED;
}

/** Orders for the daemon. They need no lease, because a command places them while the daemon holds it. */
export class Orders {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Hands a pass to the daemon. Joins an equal order that waits or is under way: no list is read twice.
   * @param access of the command, as `accessId` names it; a consent to another account needs it
   */
  async place(
    spec: PassSpec,
    now: number,
    access: string | null = null,
  ): Promise<{ id: number; joined: boolean }> {
    const { kind, inboxId, acceptDeletes, acceptAccount } = spec;
    const consent = [acceptDeletes, acceptAccount, acceptAccount ? access : null];
    const scope = [kind, listsText(spec), inboxId, ...consent];
    const same = `ordered AND state IN ${OPEN_PASS} AND kind = $1 AND lists = $2
      AND inbox_id IS NOT DISTINCT FROM $3 AND accept_deletes = $4 AND accept_account = $5
      AND accept_access IS NOT DISTINCT FROM $6`;
    return await this.#database.transaction(async (tx) => {
      // The write comes first: a SQLite transaction that has read cannot write once the daemon has written.
      for (;;) {
        const [placed] = await tx.query<{ id: number }>(
          `INSERT INTO sync_requests (kind, lists, inbox_id, accept_deletes, accept_account, accept_access,
             ordered, state, requested_by, requested_at)
           SELECT $1, $2, $3, $4, $5, $6, $7, 'open', $8, $9
           WHERE NOT EXISTS (SELECT 1 FROM sync_requests WHERE ${same}) RETURNING id`,
          ...scope,
          true,
          spec.requestedBy,
          iso(now),
        );
        if (placed !== undefined) return { id: placed.id, joined: false };
        const [existing] = await tx.query<{ id: number }>(
          `SELECT id FROM sync_requests WHERE ${same} ORDER BY id LIMIT 1`,
          ...scope,
        );
        // A person who gives a consent again gives it for this moment, unless the daemon has begun the order.
        if (existing !== undefined && acceptDeletes)
          await tx.execute(
            `UPDATE sync_requests SET requested_at = $2 WHERE id = $1 AND state = 'open'`,
            existing.id,
            iso(now),
          );
        if (existing !== undefined) return { id: existing.id, joined: true };
        // On PostgreSQL the equal order can end between the two statements; then this one is placed.
      }
    }, 'orders');
  }

  /** The oldest order that has not ended, even if it was begun before a restart; null if there is none. */
  async next(): Promise<Order | null> {
    const [row] = await this.#database.query<OrderRow>(
      `${ALL} WHERE ordered AND state IN ${OPEN_PASS} ORDER BY id LIMIT 1`,
    );
    return row === undefined ? null : asOrder(row);
  }

  async read(id: number): Promise<Order | null> {
    const [row] = await this.#database.query<OrderRow>(`${ALL} WHERE id = $1`, id);
    return row === undefined ? null : asOrder(row);
  }

  /** Withdraws an order that no daemon has begun. @returns false if a daemon has begun or ended it */
  async withdraw(id: number, now: number): Promise<boolean> {
    const withdrawn = await this.#database.execute(
      `UPDATE sync_requests SET state = 'abandoned', finished_at = $2,
         error = '${WITHDRAWN}'
       WHERE id = $1 AND ordered AND state = 'open'`,
      id,
      iso(now),
    );
    return withdrawn > 0;
  }

  /**
   * Cancels an order for a person. A daemon that has begun it stops it after its current pages.
   * @returns false if there is no such order, or if it has ended
   */
  async cancel(id: number, now: number): Promise<boolean> {
    const cancelled = await this.#database.execute(
      `UPDATE sync_requests SET state = 'abandoned', finished_at = $2, error = '${CANCELLED}'
       WHERE id = $1 AND ordered AND state IN ${OPEN_PASS}`,
      id,
      iso(now),
    );
    return cancelled > 0;
  }
}

function asOrder({
  inbox_id,
  accept_deletes,
  accept_account,
  accept_access,
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
    acceptAccount: accept_account,
    access: accept_access,
    requestedBy: requested_by,
    requestedAt: requested_at,
    startedAt: started_at,
    finishedAt: finished_at,
    orderId: row.id,
  };
}
