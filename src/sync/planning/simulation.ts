import { type Budget, BUDGET_WINDOW_MS, scheduledCap } from '../../core/budget.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../core/clock.ts';
import { LIST_NAMES, type ListKey, type ListName } from '../../core/lists.ts';
import type { Cron } from './cron.ts';
import { choose } from './planner.ts';

/** A list in the simulation. `cost`: requests a sweep; `rate`: changed rows an hour. */
export interface PlannedList {
  readonly key: ListKey;
  readonly cost: number;
  readonly rate: number;
}

/** The simulation covers 6 days. */
const DAYS = 6;

/** The first 2 days do not count: the simulation begins with every list fresh and due at once. */
const DAYS_IGNORED = 2;

/** Milliseconds of one step at least: a schedule with a slot each second would take too many steps. */
const STEP_MS = MINUTE;

interface SimulatedList {
  readonly list: PlannedList;
  dueSince: number;
  completeAt: number;
  /** When its last sweep started. */
  startedAt: number;
}

/**
 * The simulation: runs the schedules for some days with the daemon's planner, the full request rate and no
 * failures. `load.ts` calls it if the schedules need more than the budget allows.
 * @returns the greatest age that a list of each kind reaches, in ms
 */
export function worstAges(
  lists: readonly PlannedList[],
  crons: Readonly<Record<ListName, Cron>>,
  budget: Budget,
  now: number,
): Record<ListName, number> {
  const simulated = lists.map((list): SimulatedList => ({
    list,
    dueSince: now,
    completeAt: now,
    startedAt: now - 1,
  }));
  const worst = Object.fromEntries(LIST_NAMES.map((list) => [list, 0])) as Record<ListName, number>;
  const cap = scheduledCap(budget);
  const spent: { at: number; requests: number }[] = [];
  let gateFreeAt = now;
  for (let at = now; at < now + DAYS * DAY; at = nextMoment(at, crons, spent, simulated)) {
    for (const one of simulated) {
      const slot = crons[one.list.key.list].next(at - STEP_MS);
      if (slot <= at) one.dueSince = slot;
    }
    const due = simulated.filter(
      ({ dueSince, startedAt, completeAt }) => startedAt < dueSince && completeAt <= at,
    );
    while ((spent[0]?.at ?? Number.POSITIVE_INFINITY) <= at - BUDGET_WINDOW_MS) spent.shift();
    const left = cap - spent.reduce((sum, { requests }) => sum + requests, 0);
    const candidates = due.map((one) => ({
      ...one.list,
      one,
      ageHours: (at - one.completeAt) / HOUR,
    }));
    for (const { one, cost } of choose(candidates, { left, cap }).start) {
      gateFreeAt = Math.max(gateFreeAt, at) + (cost / budget.perSecond) * SECOND;
      if (at > now + DAYS_IGNORED * DAY)
        worst[one.list.key.list] = Math.max(worst[one.list.key.list], gateFreeAt - one.completeAt);
      Object.assign(one, { startedAt: at, completeAt: gateFreeAt });
      spent.push({ at: gateFreeAt, requests: cost });
    }
  }
  for (const { list, completeAt } of simulated) {
    worst[list.key.list] = Math.max(worst[list.key.list], now + DAYS * DAY - completeAt);
  }
  return worst;
}

/** The next instant that can change the choice: a slot, or a waiting list's next free requests. */
function nextMoment(
  at: number,
  crons: Readonly<Record<ListName, Cron>>,
  spent: readonly { at: number }[],
  simulated: readonly SimulatedList[],
): number {
  const slot = Math.min(...LIST_NAMES.map((list) => crons[list].next(at)));
  const waiting = simulated.some(({ startedAt, dueSince }) => startedAt < dueSince);
  const budgetGrowsAt =
    waiting && spent[0] !== undefined ? spent[0].at + BUDGET_WINDOW_MS : Number.POSITIVE_INFINITY;
  return Math.max(at + STEP_MS, Math.min(slot, budgetGrowsAt));
}
