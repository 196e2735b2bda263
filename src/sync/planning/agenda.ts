import { BUDGET_WINDOW_MS } from '../../core/budget.ts';
import { listId, type ListKey, type ListName } from '../../core/lists.ts';
import type { Reader } from '../../mirror/mirror.ts';
import { type LatestSweep, openAndComplete } from '../../mirror/sweeps/latest.ts';
import { type Candidate, changeRate, choose, type Observation } from './planner.ts';

export type AgendaStore = Pick<
  Reader,
  'schedules' | 'liveInboxes' | 'latestSweeps' | 'completeSweeps' | 'countSent' | 'leavesWindowAt'
>;

export interface AgendaLimits {
  readonly pageSize: number;
  readonly requestsPerDay: number;
  readonly requestsReserved: number;
}

/** What is due: to be swept now, in this order, or waiting for the day's budget until about `until`. */
export interface Agenda {
  readonly start: readonly ListKey[];
  readonly waiting: readonly { readonly key: ListKey; readonly requests: number }[];
  readonly until: Date | null;
  /** Requests that scheduled work may still send before some of the window leave it, less what is under way. */
  readonly left: number;
}

/** No list waits longer for its turn, whatever its index; one that is due more seldom goes first when it is. */
const MAX_AGE_HOURS = 24;
const HOUR = 3_600_000;

/**
 * Reads what is due, and decides what of it fits the budget that scheduled work may use (DESIGN.md, "Planning").
 * @param isBusy lists that are being swept already, whose remaining cost is spoken for
 */
export async function readAgenda(
  store: AgendaStore,
  limits: AgendaLimits,
  isBusy: (key: ListKey) => boolean,
  now: number,
): Promise<Agenda> {
  const dueSince = new Map((await store.schedules()).map(({ list, dueSince: since }) => [list, since]));
  const sweeps = await store.latestSweeps();
  const inboxes = (await store.liveInboxes()).filter(({ suspect }) => !suspect);
  const keys = inboxes.flatMap(({ id }) => PER_INBOX.map((list): ListKey => ({ list, inboxId: id })));
  const candidates: Candidate[] = [];
  let spokenFor = 0;
  for (const key of [{ list: 'inboxes', inboxId: null } as const, ...keys]) {
    const own = sweeps.get(listId(key)) ?? [];
    if (isBusy(key)) spokenFor += remainingCost(own, limits.pageSize);
    else if (isDue(own, dueSince.get(key.list) ?? null))
      candidates.push(await candidateOf(store, key, own, limits.pageSize, now));
  }
  const cap = limits.requestsPerDay - limits.requestsReserved;
  const left = cap - (await store.countSent(now - BUDGET_WINDOW_MS)) - spokenFor;
  const { start, waiting, lacking } = choose(candidates, { left, cap });
  return {
    start: start.map(({ key }) => key),
    waiting: waiting.map(({ key, cost }) => ({ key, requests: cost })),
    until: lacking === 0 ? null : await store.leavesWindowAt(lacking, now),
    left,
  };
}

const PER_INBOX: readonly ListName[] = ['users', 'tags', 'conversations'];

/** A list is due where no sweep of it has ended since its slot; one that failed has had its turn. */
function isDue(own: readonly LatestSweep[], dueSince: Date | null): boolean {
  if (dueSince === null) return false;
  return !own.some(
    ({ state, finishedAt }) =>
      (state === 'complete' || state === 'failed') && finishedAt !== null && finishedAt >= dueSince,
  );
}

async function candidateOf(
  store: AgendaStore,
  key: ListKey,
  own: readonly LatestSweep[],
  pageSize: number,
  now: number,
): Promise<Candidate> {
  const completeAsOf = openAndComplete(own).complete?.finishedAt?.getTime();
  return {
    key,
    ageHours: completeAsOf === undefined ? Number.POSITIVE_INFINITY : Math.max(0, now - completeAsOf) / HOUR,
    cost: remainingCost(own, pageSize),
    rate: changeRate(key.list, observations(await store.completeSweeps(key), now)),
    maxAgeHours: MAX_AGE_HOURS,
  };
}

/** `ceil(rows / page size)` of the last complete sweep, less what an open one has read; a list of unknown length counts as one page. */
export function remainingCost(own: readonly LatestSweep[], pageSize: number): number {
  const { open, complete } = openAndComplete(own);
  return Math.max(1, Math.ceil((complete?.items ?? 0) / pageSize) - (open?.pages ?? 0));
}

/** What each complete sweep found since the one before; the first one found everything, which says nothing. */
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
