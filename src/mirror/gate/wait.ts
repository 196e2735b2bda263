import { type Budget, requestsLeft } from '../../core/budget.ts';
import { judgePause } from '../../core/gate-state.ts';
import type { Database } from '../../database/database.ts';
import { BudgetReader } from './budget-use.ts';
import { readLoopState } from './loop-state.ts';

/** Why no request can leave, and until when. */
export interface Wait {
  readonly kind: 'outage' | 'breaker' | 'pause' | 'budget';
  /** The event that caused the wait; null for the budget. */
  readonly cause: string | null;
  readonly until: Date;
}

/** Reads why a manual request could not leave at `now`: the reason that lasts longest. Null if it could. */
export async function readWait(
  database: Database,
  budget: Pick<Budget, 'perDay'>,
  now: number,
): Promise<Wait | null> {
  const { gate, outage } = await readLoopState(database);
  const { word, until, cause } = judgePause(gate, now);
  const waits: Wait[] = [];
  if (until !== null) waits.push({ kind: word === 'breaker' ? 'breaker' : 'pause', cause, until });
  if (outage !== null) waits.push({ kind: 'outage', cause: outage.cause, until: outage.until });
  const use = new BudgetReader(database);
  const sent = await use.sentInWindow(now);
  if (requestsLeft(budget, sent) === 0) {
    const frees = await use.leavesWindowAt(sent - budget.perDay + 1, now);
    waits.push({ kind: 'budget', cause: null, until: frees });
  }
  return waits.toSorted((a, b) => b.until.getTime() - a.until.getTime())[0] ?? null;
}
