import type { GateState } from '../../core/gate-state.ts';
import type { Sql } from '../../database/database.ts';
import { OPEN_PASS } from '../passes/states.ts';
import { asOtherAccount, type OtherAccount, type OtherAccountRow } from './account.ts';
import { asGateState, type GateRow } from './ledger.ts';
import { asOutage, type Outage, type OutageRow } from './outage.ts';

/** The state that the daemon's loop reads every second. */
export interface LoopState {
  readonly gate: GateState;
  readonly outage: Outage | null;
  /** The access that last led to another account; null if none does. */
  readonly otherAccount: OtherAccount | null;
  /** True if an order waits or is under way. */
  readonly ordered: boolean;
}

/** Reads the loop's state in one query. */
export async function readLoopState(sql: Sql): Promise<LoopState> {
  const [row] = await sql.query<GateRow & OutageRow & OtherAccountRow & { ordered: number | null }>(
    `SELECT (SELECT min(id) FROM sync_requests WHERE state IN ${OPEN_PASS} AND ordered) AS ordered,
       gate_state.*
     FROM (SELECT 1 AS one) AS always LEFT JOIN gate_state ON gate_state.id = 1`,
  );
  return {
    gate: asGateState(row),
    outage: row === undefined ? null : asOutage(row),
    otherAccount: row === undefined ? null : asOtherAccount(row),
    ordered: row?.ordered != null,
  };
}
