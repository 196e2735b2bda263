import { type Budget, hourlyShare, scheduledCap } from '../../../core/budget.ts';
import { DAY, HOUR, MINUTE } from '../../../core/clock.ts';
import { LIST_NAMES, type ListKey, type ListName } from '../../../core/lists.ts';
import type { Cron } from '../cron.ts';
import { earliestStart } from '../due.ts';
import { inOrder, isSmall, mayBegin } from '../planner.ts';

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

/** Milliseconds of one step: the pace allows a few requests in it. */
const STEP_MS = 5 * MINUTE;

/** With more lists, the simulation would keep the process from everything else for seconds. */
const MOST_LISTS = 1000;

interface SimulatedList extends PlannedList {
  dueSince: number;
  /** See `earliestStart`. */
  countsFrom: number;
  /** When its last sweep began, and when the last complete one ended. */
  beganAt: number;
  completeAt: number;
}

interface SimulatedSweep {
  readonly list: SimulatedList;
  readonly small: boolean;
  /** Requests that it still costs. */
  remaining: number;
}

/**
 * The simulation: runs the schedules for some days with the daemon's planner and an even pace, without
 * failures. `load.ts` calls it if the schedules need more than the budget allows. For more than 1,000 lists
 * it only estimates.
 * @returns the greatest age that a list of each kind reaches, in ms
 */
export function worstAges(
  lists: readonly PlannedList[],
  crons: Readonly<Record<ListName, Cron>>,
  budget: Budget,
  now: number,
): Record<ListName, number> {
  if (lists.length > MOST_LISTS) return agesInRotation(lists, crons, budget, now);
  // Each list is fresh, and due at once.
  const begun = { beganAt: now, completeAt: now, dueSince: now + 1, countsFrom: now };
  const simulated = lists.map((list): SimulatedList => ({ ...list, ...begun }));
  const worst = Object.fromEntries(LIST_NAMES.map((list) => [list, 0])) as Record<ListName, number>;
  const noteAge = ({ key, completeAt }: SimulatedList, at: number): void => {
    worst[key.list] = Math.max(worst[key.list], at - completeAt);
  };
  const running: SimulatedSweep[] = [];
  const anHour = hourlyShare(budget);
  let credits = 0;
  for (let at = now; at < now + DAYS * DAY; at += STEP_MS) {
    for (const name of LIST_NAMES) {
      const slot = crons[name].next(at - STEP_MS);
      if (slot > at) continue;
      const due = { dueSince: slot, countsFrom: earliestStart(slot, crons[name].next(slot)) };
      for (const list of simulated) if (list.key.list === name) Object.assign(list, due);
    }
    credits = Math.min(Math.max(1, anHour), credits + (anHour * STEP_MS) / HOUR);
    if (credits < 1) continue;
    const queue = dueAt(simulated, running, budget, at);
    for (; credits >= 1; credits -= 1) {
      begin(queue, running, at);
      // The sweeps take their credits in turn.
      const sweep = running.shift();
      if (sweep === undefined) break;
      sweep.remaining -= 1;
      if (sweep.remaining > 0) {
        running.push(sweep);
        continue;
      }
      if (at > now + DAYS_IGNORED * DAY) noteAge(sweep.list, at);
      sweep.list.completeAt = at;
    }
  }
  for (const list of simulated) noteAge(list, now + DAYS * DAY);
  return worst;
}

/** The ages if the list of inboxes is read at each slot, and all others in turn. */
function agesInRotation(
  lists: readonly PlannedList[],
  crons: Readonly<Record<ListName, Cron>>,
  budget: Budget,
  now: number,
): Record<ListName, number> {
  const requests = lists.reduce((sum, { cost }) => sum + cost, 0);
  const rotationMs = (requests / Math.max(1, scheduledCap(budget))) * DAY;
  const ages = LIST_NAMES.map((name) => {
    const slot = crons[name].next(now);
    const betweenSlots = crons[name].next(slot) - slot;
    return [name, name === 'inboxes' ? betweenSlots : betweenSlots + rotationMs];
  });
  return Object.fromEntries(ages) as Record<ListName, number>;
}

interface QueuedList {
  readonly list: SimulatedList;
  readonly small: boolean;
}

/** The lists that are due and that nothing sweeps, in order. */
function dueAt(
  lists: readonly SimulatedList[],
  running: readonly SimulatedSweep[],
  budget: Budget,
  at: number,
): QueuedList[] {
  const swept = new Set(running.map(({ list }) => list));
  const isDue = ({ completeAt, beganAt, dueSince, countsFrom }: SimulatedList): boolean =>
    completeAt < dueSince || beganAt < countsFrom;
  const due = lists.filter((list) => isDue(list) && !swept.has(list));
  const candidates = due.map((list) => ({ ...list, list, ageHours: (at - list.completeAt) / HOUR }));
  return inOrder(candidates).map((one) => ({ list: one.list, small: isSmall(one, budget) }));
}

/** Moves the lists that have a place from the queue to the running sweeps. */
function begin(queue: QueuedList[], running: SimulatedSweep[], at: number): void {
  for (;;) {
    const [forSmall, forAny] = [mayBegin({ small: true }, running), mayBegin({ small: false }, running)];
    if (!forSmall && !forAny) return;
    const index = queue.findIndex(({ small }) => (small ? forSmall : forAny));
    const [next] = index === -1 ? [] : queue.splice(index, 1);
    if (next === undefined) return;
    next.list.beganAt = at;
    running.push({ ...next, remaining: next.list.cost });
  }
}
