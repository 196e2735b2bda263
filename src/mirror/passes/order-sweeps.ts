import type { ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { OPEN_SWEEP, type SweepState } from '../sweeps/states.ts';
import { IS_SCHEDULED } from '../gate/budget-use.ts';
import type { Order } from './orders.ts';

/** A condition for rounds, which read single pages beside an order: they have no pages of a walk. */
const IS_ROUND = `state = 'reading' OR (list = 'conversations' AND state IN ('complete', 'abandoned')
  AND NOT EXISTS (SELECT 1 FROM sweep_pages WHERE sweep_id = sweeps.id AND page_no > 0))`;

/** A sweep, with the columns that a command needs to follow an order from another process. */
export interface OrderSweep extends ListKey {
  readonly id: number;
  readonly state: SweepState;
  readonly pages: number;
  readonly items: number;
  readonly inserted: number;
  readonly changed: number;
  readonly deleted: number;
  readonly rejected: number;
  readonly withoutId: number;
  readonly held: number;
  readonly startedAt: Date;
  readonly error: string | null;
}

/** The progress of an order, for the command that follows it from another process. */
export class OrderSweeps {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The lowest id that a sweep of the order can have. With it a poll does not read years of sweeps. */
  async firstId({ startedAt, requestedAt }: Order): Promise<number> {
    const [row] = await this.#sql.query<{ first: number | null; next: number | null }>(
      `SELECT
         (SELECT min(id) FROM sweeps WHERE state IN ${OPEN_SWEEP} OR heartbeat_at >= $1) AS first,
         (SELECT max(id) + 1 FROM sweeps) AS next`,
      iso(startedAt ?? requestedAt),
    );
    return row?.first ?? row?.next ?? 0;
  }

  /** The sweeps from `firstId` on that were active after the order began, oldest first. */
  async since(begun: Date, firstId: number): Promise<OrderSweep[]> {
    return await this.#sql.query<OrderSweep>(
      `SELECT id, list, inbox_id AS "inboxId", state, pages, items, inserted, changed, deleted, rejected,
         without_id AS "withoutId", held, started_at AS "startedAt", error
       FROM sweeps WHERE id >= $1 AND heartbeat_at >= $2 AND NOT (${IS_ROUND}) ORDER BY id`,
      firstId,
      iso(begun),
    );
  }

  /** Counts the requests between two instants that no schedule caused: while an order runs, the order's. */
  async countRequests(from: Date, to: Date): Promise<number> {
    const [row] = await this.#sql.query<{ sent: number }>(
      `SELECT count(*) AS sent FROM requests WHERE sent_at >= $1 AND sent_at <= $2 AND NOT (${IS_SCHEDULED})`,
      iso(from),
      iso(to),
    );
    return row?.sent ?? 0;
  }
}
