import type { GateState } from '../../core/gate-state.ts';
import type { Sql } from '../../database/database.ts';
import { asGateState, type GateRow } from './ledger.ts';
import { asOutage, type Outage, type OutageRow } from './outage.ts';

/** All that a daemon must look at every second, in one query. */
export interface Glance {
  readonly gate: GateState;
  readonly outage: Outage | null;
  /** There is an order that has not ended. */
  readonly ordered: boolean;
}

export async function glance(sql: Sql): Promise<Glance> {
  const [row] = await sql.query<GateRow & OutageRow & { ordered: number | null }>(
    `SELECT (SELECT min(id) FROM sync_requests WHERE state IN ('open', 'running') AND ordered) AS ordered, gate_state.*
     FROM (SELECT 1 AS one) AS always LEFT JOIN gate_state ON gate_state.id = 1`,
  );
  return {
    gate: asGateState(row),
    outage: row === undefined ? null : asOutage(row),
    ordered: row?.ordered != null,
  };
}
