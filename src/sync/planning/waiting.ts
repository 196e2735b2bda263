import { type Budget, hourlyShare } from '../../core/budget.ts';
import { HOUR, SECOND } from '../../core/clock.ts';
import { listId, type ListKey } from '../../core/lists.ts';
import type { BudgetReader } from '../../mirror/gate/budget-use.ts';
import { openAndComplete } from '../../mirror/mirror.ts';
import {
  type AgendaMirror,
  dueList,
  type DueList,
  readAgenda,
  remainingCost,
  spentOn,
  sweepableLists,
} from './agenda.ts';
import { EVEN, paceOf, supplyOf } from './pace.ts';
import { mayBegin } from './planner.ts';

/** Lists that are due, but wait for a place. The first of them begins at about `until`. */
export interface Waiting {
  readonly lists: number;
  readonly requests: number;
  readonly until: Date;
}

interface WaitingMirror extends AgendaMirror {
  readonly budget: Pick<BudgetReader, 'windowByHour' | 'leavesWindowAt'>;
}

/** Reads what waits, and estimates until when. `status` prints it; null if every due list has a place. */
export async function readWaiting(
  mirror: WaitingMirror,
  { budget, readsPages }: { readonly budget: Budget; readonly readsPages: boolean },
  now: number,
): Promise<Waiting | null> {
  // The order of waiting lists does not matter here, and their change rates would cost a query per list.
  const sweeps: AgendaMirror['sweeps'] = {
    latest: () => mirror.sweeps.latest(),
    failedSweeps: (...of) => mirror.sweeps.failedSweeps(...of),
    completed: () => Promise.resolve([]),
  };
  const swept = await runningSweeps(mirror, budget);
  const beingRead = new Set(swept.map(({ key }) => listId(key)));
  const isBeingRead = (key: ListKey): boolean => beingRead.has(listId(key));
  const { due } = await readAgenda({ ...mirror, sweeps }, { budget, readsPages, isBeingRead, now });
  const waiting: DueList[] = [];
  for (const list of due.filter(({ waits }) => !waits)) (mayBegin(list, swept) ? swept : waiting).push(list);
  if (waiting.length === 0) return null;
  const requests = waiting.reduce((sum, list) => sum + list.requests, 0);
  return { lists: waiting.length, requests, until: await firstEnd(mirror, budget, swept, now) };
}

async function runningSweeps(mirror: AgendaMirror, budget: Budget): Promise<DueList[]> {
  const running: DueList[] = [];
  const sweeps = await mirror.sweeps.latest();
  for (const key of await sweepableLists(mirror)) {
    const latest = sweeps.get(listId(key)) ?? [];
    const { open, complete } = openAndComplete(latest);
    if (open?.state !== 'running') continue;
    const cost = remainingCost(latest, budget);
    const ageHours = complete === undefined ? Number.POSITIVE_INFINITY : 0;
    const spent = spentOn(latest, await mirror.sweeps.failedSweeps(key, latest));
    running.push(dueList({ key, ageHours, cost, spent, waits: false }, budget));
  }
  return running;
}

/**
 * When a place becomes free: the sweeps send one after the other, so the shortest of them ends first. On
 * average half of a rotation is over.
 */
async function firstEnd(
  mirror: WaitingMirror,
  budget: Budget,
  swept: readonly DueList[],
  now: number,
): Promise<Date> {
  const supply = supplyOf(await mirror.budget.windowByHour(now), budget);
  const atFullRate = supply.left > hourlyShare(budget) && swept.some(({ first }) => first);
  const anHour = atFullRate ? (budget.perSecond * HOUR) / SECOND : paceOf(supply, EVEN);
  const shortest = Math.min(...swept.map(({ requests }) => requests));
  if (anHour > 0) return new Date(now + ((shortest - 0.5) * swept.length * HOUR) / anHour);
  return await mirror.budget.leavesWindowAt(1 - supply.left, now);
}
