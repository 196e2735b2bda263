import { type Budget, pagesFor, requestsLeft } from '../../core/budget.ts';
import { DAY, HOUR, SECOND } from '../../core/clock.ts';
import { INBOXES, keysOf, type ListKey } from '../../core/lists.ts';
import type { WindowByHour } from '../../mirror/gate/budget-use.ts';
import { coversInbox, type Mirror } from '../../mirror/mirror.ts';
import type { Scope } from '../../mirror/passes/scope.ts';

/**
 * The forecast: requests and time of one resync, before a person starts it. It assumes that each list has as
 * many rows as in its last complete sweep. Compare `load/load.ts` (all schedules, day after day).
 */
export interface Forecast {
  readonly lists: readonly { readonly key: ListKey; readonly requests: number; readonly known: boolean }[];
  readonly requests: number;
  /** False if some list was never complete: it counts as one page. */
  readonly complete: boolean;
  readonly sentInWindow: number;
  readonly perDay: number;
  /** Milliseconds from now to the end of the resync: limited by the rate, or by the day's budget. */
  readonly lastsMs: number;
}

/** Forecasts a resync. Sends no request. */
export async function forecastResync(
  mirror: Pick<Mirror, 'inboxes' | 'sweeps'>,
  scope: Scope,
  budget: Budget,
  window: WindowByHour,
): Promise<Forecast> {
  const inboxes = (await mirror.inboxes()).filter(({ id, suspect }) => coversInbox(scope, id) && !suspect);
  const keys = keysOf(scope.lists, inboxes);
  if (inboxes.length === 0 && !scope.lists.includes('inboxes')) keys.unshift(INBOXES);
  const costs = [];
  for (const key of keys) {
    const last = await mirror.sweeps.lastComplete(key);
    costs.push({ key, requests: pagesFor(last?.items ?? 0, budget), known: last !== null });
  }
  // The resync may find inboxes, each with further lists.
  const isUnknown = inboxes.length === 0 && scope.lists.some((list) => list !== 'inboxes');
  const requests = costs.reduce((sum, cost) => sum + cost.requests, 0);
  return {
    lists: costs,
    requests,
    complete: costs.length > 0 && !isUnknown && costs.every(({ known }) => known),
    sentInWindow: window.sent,
    perDay: budget.perDay,
    lastsMs: durationOf(requests, budget, window),
  };
}

function durationOf(requests: number, budget: Budget, { sent, leaving }: WindowByHour): number {
  const missing = requests - requestsLeft(budget, sent);
  if (missing <= 0) return (requests / budget.perSecond) * SECOND;
  // The resync sends each request that becomes free: scheduled work waits while the reserve is in use.
  const days = Math.ceil(missing / budget.perDay) - 1;
  let free = days * budget.perDay;
  const enough = leaving.findIndex((requestsOfHour) => (free += requestsOfHour) >= missing);
  return days * DAY + (enough === -1 ? DAY : (enough + 1) * HOUR);
}
