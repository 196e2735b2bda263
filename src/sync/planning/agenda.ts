import { type Budget, pagesFor, scheduledCap } from '../../core/budget.ts';
import { HOUR } from '../../core/clock.ts';
import { keysOf, LIST_NAMES, listId, type ListKey } from '../../core/lists.ts';
import type { BudgetUse } from '../../mirror/gate/budget.ts';
import type { Inbox } from '../../mirror/items/inboxes.ts';
import { openAndComplete } from '../../mirror/mirror.ts';
import type { ScheduleReader } from '../../mirror/schedules.ts';
import type { LatestSweep, SweepHistory } from '../../mirror/sweeps/latest.ts';
import { type Candidate, changeRate, choose, type Observation } from './planner.ts';

/** The reads that planning needs. */
export interface PlanningMirror {
  inboxes(): Promise<Inbox[]>;
  readonly sweeps: Pick<SweepHistory, 'latest' | 'complete'>;
}

export interface AgendaMirror extends PlanningMirror {
  readonly schedules: Pick<ScheduleReader, 'all'>;
  readonly budget: Pick<BudgetUse, 'sentToday' | 'leavesWindowAt'>;
}

/** The lists that are due: those to sweep now, in order, and those that wait for the day's budget until about `until`. */
export interface Agenda {
  readonly start: readonly ListKey[];
  readonly waiting: readonly { readonly key: ListKey; readonly requests: number }[];
  readonly until: Date | null;
  /** Requests that scheduled work may send now, less those that running sweeps will still send. */
  readonly left: number;
}

/** A list that is older than this goes first, whatever its index. */
export const MAX_AGE_HOURS = 24;

/**
 * Reads which lists are due and chooses those that fit the budget of scheduled work (docs/decisions/0002).
 * @param isBusy lists that are being swept already; their remaining requests count as used
 */
export async function readAgenda(
  mirror: AgendaMirror,
  budget: Budget,
  isBusy: (key: ListKey) => boolean,
  now: number,
): Promise<Agenda> {
  const dueSince = new Map((await mirror.schedules.all()).map(({ list, dueSince: since }) => [list, since]));
  const sweeps = await mirror.sweeps.latest();
  const candidates: Candidate[] = [];
  let busy = 0;
  for (const key of await sweepableLists(mirror)) {
    const own = sweeps.get(listId(key)) ?? [];
    if (isBusy(key)) busy += remainingCost(own, budget);
    else if (isDue(own, dueSince.get(key.list) ?? null))
      candidates.push(await candidateOf(mirror, key, own, budget, now));
  }
  const cap = scheduledCap(budget);
  const left = cap - (await mirror.budget.sentToday(now)) - busy;
  const { start, waiting, lacking } = choose(candidates, { left, cap });
  return {
    start: start.map(({ key }) => key),
    waiting: waiting.map(({ key, cost }) => ({ key, requests: cost })),
    until: lacking === 0 ? null : await mirror.budget.leavesWindowAt(lacking, now),
    left,
  };
}

/** All lists but those of inboxes that are suspects. */
export async function sweepableLists(mirror: PlanningMirror): Promise<ListKey[]> {
  const inboxes = (await mirror.inboxes()).filter(({ suspect }) => !suspect);
  return keysOf(
    LIST_NAMES,
    inboxes.map(({ id }) => id),
  );
}

/** A list is due if no sweep of it has ended since its last slot, successfully or not. */
function isDue(own: readonly LatestSweep[], dueSince: Date | null): boolean {
  if (dueSince === null) return false;
  return !own.some(
    ({ state, finishedAt }) =>
      (state === 'complete' || state === 'failed') && finishedAt !== null && finishedAt >= dueSince,
  );
}

async function candidateOf(
  mirror: PlanningMirror,
  key: ListKey,
  own: readonly LatestSweep[],
  budget: Budget,
  now: number,
): Promise<Candidate> {
  const completeAsOf = openAndComplete(own).complete?.finishedAt?.getTime();
  return {
    key,
    ageHours: completeAsOf === undefined ? Number.POSITIVE_INFINITY : Math.max(0, now - completeAsOf) / HOUR,
    cost: remainingCost(own, budget),
    rate: changeRate(key.list, observations(await mirror.sweeps.complete(key), now)),
    maxAgeHours: MAX_AGE_HOURS,
  };
}

/** Requests that a sweep will cost: the pages of the last complete one, less those that an open one has read. */
export function remainingCost(own: readonly LatestSweep[], budget: Pick<Budget, 'pageSize'>): number {
  const { open, complete } = openAndComplete(own);
  return Math.max(1, pagesFor(complete?.items ?? 0, budget) - (open?.pages ?? 0));
}

/** How many rows each complete sweep changed since the one before. The first one has none before it. */
export function observations(
  newestFirst: readonly { finishedAt: Date; changes: number }[],
  now: number,
): Observation[] {
  return newestFirst.slice(0, -1).map(({ finishedAt, changes }, index) => ({
    changes,
    hours: Math.max(0, finishedAt.getTime() - (newestFirst[index + 1]?.finishedAt.getTime() ?? 0)) / HOUR,
    hoursAgo: Math.max(0, now - finishedAt.getTime()) / HOUR,
  }));
}
