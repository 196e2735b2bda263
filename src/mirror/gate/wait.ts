import { BUDGET_WINDOW_MS } from '../../core/budget.ts';
import { BREAKER_STRIKES } from '../../core/gate-state.ts';
import type { Database } from '../../database/database.ts';
import { countSent, leavesWindowAt } from './budget.ts';
import { glance } from './glance.ts';
import { ledgerOf } from './ledger.ts';

/** Why the holder of the lease sends nothing, and until when. */
export interface Wait {
  readonly kind: 'outage' | 'breaker' | 'pause' | 'budget';
  /** What the service did; null for the budget. */
  readonly cause: string | null;
  readonly until: Date;
}

/** What a person's request would wait for now, from the database alone; null where it could leave. */
export async function readWait(
  database: Database,
  requestsPerDay: number,
  now: number,
): Promise<Wait | null> {
  const { strikes, pausedUntil, cause } = await ledgerOf(database).state();
  if (pausedUntil !== null && pausedUntil.getTime() > now)
    return { kind: strikes >= BREAKER_STRIKES ? 'breaker' : 'pause', cause, until: pausedUntil };
  const { outage } = await glance(database);
  if (outage !== null) return { kind: 'outage', cause: outage.cause, until: outage.until };
  const sent = await countSent(database, now - BUDGET_WINDOW_MS);
  if (sent < requestsPerDay) return null;
  return {
    kind: 'budget',
    cause: null,
    until: await leavesWindowAt(database, sent - requestsPerDay + 1, now),
  };
}
