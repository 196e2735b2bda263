import { type Budget, BUDGET_WINDOW_MS, scheduledCap } from '../../core/budget.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../core/clock.ts';
import { LIST_NAMES, type ListKey, type ListName } from '../../core/lists.ts';
import { MAX_AGE_HOURS } from './agenda.ts';
import type { Cron } from './cron.ts';
import { choose } from './planner.ts';

/** A list as the planner will see it: requests a sweep, and changed rows an hour. */
export interface PlannedList {
  readonly key: ListKey;
  readonly cost: number;
  readonly rate: number;
}

const DAYS_PLAYED = 6;

/** The first days are spent getting into step. */
const DAYS_IGNORED = 2;

/** No finer than this: schedules by the second would be played for ever. */
const STEP = MINUTE;

interface Played {
  readonly list: PlannedList;
  dueSince: number;
  completeAt: number;
  /** When it was last begun. */
  begunAt: number;
}

/**
 * Plays some days of the schedules with the planner that the daemon uses, and tells how old a list of each kind gets at the worst, in milliseconds.
 * For schedules that want more than the budget has.
 */
export function worstAges(
  lists: readonly PlannedList[],
  crons: Readonly<Record<ListName, Cron>>,
  budget: Budget,
  now: number,
): Record<ListName, number> {
  const played = lists.map((list): Played => ({ list, dueSince: now, completeAt: now, begunAt: now - 1 }));
  const worst = Object.fromEntries(LIST_NAMES.map((list) => [list, 0])) as Record<ListName, number>;
  const cap = scheduledCap(budget);
  const spent: { at: number; requests: number }[] = [];
  let gateFreeAt = now;
  for (let at = now; at < now + DAYS_PLAYED * DAY; at = nextMoment(at, crons, spent, played)) {
    for (const one of played) {
      const slot = crons[one.list.key.list].next(at - STEP);
      if (slot <= at) one.dueSince = slot;
    }
    const due = played.filter(({ dueSince, begunAt, completeAt }) => begunAt < dueSince && completeAt <= at);
    while ((spent[0]?.at ?? Number.POSITIVE_INFINITY) <= at - BUDGET_WINDOW_MS) spent.shift();
    const left = cap - spent.reduce((sum, { requests }) => sum + requests, 0);
    const candidates = due.map((one) => ({
      ...one.list,
      one,
      ageHours: (at - one.completeAt) / HOUR,
      maxAgeHours: MAX_AGE_HOURS,
    }));
    for (const { one, cost } of choose(candidates, { left, cap }).start) {
      gateFreeAt = Math.max(gateFreeAt, at) + (cost / budget.perSecond) * SECOND;
      if (at > now + DAYS_IGNORED * DAY)
        worst[one.list.key.list] = Math.max(worst[one.list.key.list], gateFreeAt - one.completeAt);
      Object.assign(one, { begunAt: at, completeAt: gateFreeAt });
      spent.push({ at: gateFreeAt, requests: cost });
    }
  }
  for (const { list, completeAt } of played) {
    worst[list.key.list] = Math.max(worst[list.key.list], now + DAYS_PLAYED * DAY - completeAt);
  }
  return worst;
}

/** When something can be different: a slot, or requests that leave the window while a list waits. */
function nextMoment(
  at: number,
  crons: Readonly<Record<ListName, Cron>>,
  spent: readonly { at: number }[],
  played: readonly Played[],
): number {
  const slot = Math.min(...LIST_NAMES.map((list) => crons[list].next(at)));
  const waiting = played.some(({ begunAt, dueSince }) => begunAt < dueSince);
  const frees = waiting && spent[0] !== undefined ? spent[0].at + BUDGET_WINDOW_MS : Number.POSITIVE_INFINITY;
  return Math.max(at + STEP, Math.min(slot, frees));
}
