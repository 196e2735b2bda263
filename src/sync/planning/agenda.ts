import { type Budget, pagesFor, scheduledCap } from '../../core/budget.ts';
import { HOUR } from '../../core/clock.ts';
import { keysByInbox, listId, type ListKey } from '../../core/lists.ts';
import type { BudgetReader } from '../../mirror/gate/budget-use.ts';
import type { Inbox } from '../../mirror/items/inboxes.ts';
import { openAndComplete } from '../../mirror/mirror.ts';
import type { ScheduleReader } from '../../mirror/schedules.ts';
import type { LatestSweep, SweepReader } from '../../mirror/sweeps/reader.ts';
import { isDue } from './due.ts';
import { type Candidate, changeRate, choose, type Observation } from './planner.ts';

/** The reads that planning needs. */
export interface PlanningMirror {
  inboxes(): Promise<Inbox[]>;
  readonly sweeps: Pick<SweepReader, 'latest' | 'completed'>;
}

export interface AgendaMirror extends PlanningMirror {
  readonly schedules: Pick<ScheduleReader, 'all'>;
  readonly budget: Pick<BudgetReader, 'sentInWindow' | 'leavesWindowAt'>;
}

/**
 * The agenda: the lists that are due at this moment. `start` has those to sweep now, in order; `waiting` has
 * those that wait for budget, until about `until`. The daemon follows it; `status` prints what waits. Compare
 * `load.ts` (all schedules, on average) and `planner.ts` (the choice, without a database).
 */
export interface Agenda {
  readonly start: readonly ListKey[];
  readonly waiting: readonly { readonly key: ListKey; readonly requests: number }[];
  readonly until: Date | null;
  /** Requests that scheduled work may send now, less those that running sweeps will still send. */
  readonly left: number;
}

/**
 * Reads which lists are due and chooses those that fit the budget of scheduled work (docs/decisions/0002).
 * @param isBusy true for a list that is being swept; its remaining requests count as used
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
  let committed = 0;
  for (const key of await sweepableLists(mirror)) {
    const latest = sweeps.get(listId(key)) ?? [];
    if (isBusy(key)) committed += remainingCost(latest, budget);
    else if (isDue(latest, dueSince.get(key.list) ?? null, now))
      candidates.push(await candidateOf(mirror, key, latest, budget, now));
  }
  const cap = scheduledCap(budget);
  const left = cap - (await mirror.budget.sentInWindow(now)) - committed;
  const { start, waiting, shortfall } = choose(candidates, { left, cap });
  return {
    start: start.map(({ key }) => key),
    waiting: waiting.map(({ key, cost }) => ({ key, requests: cost })),
    until: shortfall === 0 ? null : await mirror.budget.leavesWindowAt(shortfall, now),
    left,
  };
}

/** All lists, without those of suspected inboxes. */
export async function sweepableLists(mirror: PlanningMirror): Promise<ListKey[]> {
  const inboxes = (await mirror.inboxes()).filter(({ suspect }) => !suspect);
  return keysByInbox(inboxes);
}

async function candidateOf(
  mirror: PlanningMirror,
  key: ListKey,
  latest: readonly LatestSweep[],
  budget: Budget,
  now: number,
): Promise<Candidate> {
  const completeAsOf = openAndComplete(latest).complete?.finishedAt?.getTime();
  return {
    key,
    ageHours: completeAsOf === undefined ? Number.POSITIVE_INFINITY : Math.max(0, now - completeAsOf) / HOUR,
    cost: remainingCost(latest, budget),
    rate: changeRate(key.list, observations(await mirror.sweeps.completed(key), now)),
  };
}

/**
 * Requests that a list's next sweep will cost: the pages of its last complete sweep, less those that an open
 * sweep has read. At least 1.
 * @param latest the list's newest sweep of each state
 */
export function remainingCost(latest: readonly LatestSweep[], budget: Pick<Budget, 'pageSize'>): number {
  const { open, complete } = openAndComplete(latest);
  return Math.max(1, pagesFor(complete?.items ?? 0, budget) - (open?.pages ?? 0));
}

/** The changes that each complete sweep found since the one before; none for the oldest one. */
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
