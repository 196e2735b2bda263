import { type Budget, pagesFor } from '../../core/budget.ts';
import { HOUR, MINUTE } from '../../core/clock.ts';
import { keysByInbox, listId, type ListKey } from '../../core/lists.ts';
import type { BookmarkReader } from '../../mirror/bookmarks/bookmarks.ts';
import type { Inbox } from '../../mirror/items/inboxes.ts';
import { openAndComplete } from '../../mirror/mirror.ts';
import type { ScheduleReader } from '../../mirror/schedules.ts';
import type { FailedSweeps, LatestSweep, SweepReader } from '../../mirror/sweeps/reader.ts';
import { maySaveFor, MOST_RESTARTS } from '../pages/streak.ts';
import { earliestStart, failedCosts, isDue, type RestOptions, restsUntil, triedAgainAt } from './due.ts';
import {
  type Candidate,
  changeRate,
  inOrder,
  isSmall,
  type Observation,
  PLACES,
  turnsOf,
} from './planner.ts';

/** The reads that planning needs. */
export interface PlanningMirror {
  inboxes(): Promise<Inbox[]>;
  readonly sweeps: Pick<SweepReader, 'latest' | 'completed' | 'failedSweeps'>;
}

export interface AgendaMirror extends PlanningMirror {
  readonly schedules: Pick<ScheduleReader, 'all'>;
  readonly bookmarks: Pick<BookmarkReader, 'oldestReadings'>;
}

export interface AgendaOptions {
  readonly budget: Budget;
  /** Lists with bookmarks are read page by page, and the others as often as the budget allows. */
  readonly readsPages: boolean;
  /** True for a list that is being read. */
  readonly isBeingRead: (key: ListKey) => boolean;
  /** When a conversation last named an item of the list that the mirror had never had; by default null. */
  readonly wantedSince?: (key: ListKey) => Date | null;
  /** True for a list that rests in memory, because it could not be read; by default none. */
  readonly isResting?: (key: ListKey) => boolean;
  /** The schedule needs most requests for single pages, so spare walks wait; by default it does not. */
  readonly pagesNeedMost?: boolean;
  readonly now: number;
}

/**
 * While single pages are read, a list without bookmarks is due again after this many ms. Such a spare walk
 * waits until all of these lists were read since their slot, see {@link isBehind}, and while the schedule
 * needs most requests for single pages (`PagePlan.needsMost`).
 */
export const SPARE_MS = 15 * MINUTE;

/** A list that is due, and how its sweep begins. */
export interface DueList {
  readonly key: ListKey;
  /** Requests that its sweep will still cost; 1 for a list of unknown length. */
  readonly requests: number;
  /** No sweep of it was ever complete: its first requests do not wait for the pace (`daemon/sweeps`). */
  readonly first: boolean;
  /** Requests that walks have cost since it was last complete. */
  readonly spent: number;
  /** See `PlaceClaim`. */
  readonly small: boolean;
  readonly worn: boolean;
  /** The service has asked to wait with it: its sweep must not begin yet. */
  readonly waits: boolean;
}

export interface Agenda {
  /** The lists that are due at this moment and that nothing sweeps, in the order in which they begin. */
  readonly due: DueList[];
  /** Requests that the walks of the lists that delay spare walks will still cost. */
  readonly behind: number;
}

/**
 * Reads the agenda. Compare `load/load.ts` (all schedules, on average) and `planner.ts` (the order, without a
 * database).
 */
export async function readAgenda(
  mirror: AgendaMirror,
  { budget, readsPages, isBeingRead, wantedSince, isResting, pagesNeedMost, now }: AgendaOptions,
): Promise<Agenda> {
  const schedules = new Map((await mirror.schedules.all()).map((schedule) => [schedule.list, schedule]));
  const sweeps = await mirror.sweeps.latest();
  const readings = readsPages ? await mirror.bookmarks.oldestReadings() : null;
  const candidates: (Candidate & Pick<DueList, 'spent' | 'waits'>)[] = [];
  const lists = await listPasts(mirror, sweeps, { budget, readsPages });
  const walkSlot = schedules.get('conversations')?.dueSince ?? null;
  const behind =
    readings === null
      ? []
      : lists.filter(
          (list) =>
            isResting?.(list.key) !== true && isBehind(list, { slot: walkSlot, readings, budget, now }),
        );
  const spentBehind = behind.reduce((sum, { latest, failed }) => sum + spentOn(latest, failed), 0);
  // A list behind may have no end: once their walks have cost a day's requests, spare walks begin again.
  const mayDelay = turnsOf(spentBehind, budget) < PLACES;
  const delaying = mayDelay ? behind : [];
  const allowsSpares = pagesNeedMost !== true && delaying.length === 0;
  for (const { key, latest, failed, rest, again } of lists) {
    const { dueSince: slot = null, nextAt = null } = schedules.get(key.list) ?? {};
    const bySlots = readings === null || key.list !== 'conversations';
    const since = bySlots
      ? later(slot, wantedSince?.(key) ?? null)
      : sinceByPages(key, latest, { slot, readings, allowsSpares, now });
    const countsFrom =
      bySlots && slot !== null && nextAt !== null ? earliestStart(slot.getTime(), nextAt.getTime()) : 0;
    const rests = rest !== null && rest.getTime() > now;
    const waits = rests && openAndComplete(latest).open !== undefined;
    if (isBeingRead(key) || !isDue(latest, since, { retryAt: again, countsFrom, now }) || (rests && !waits))
      continue;
    const spent = spentOn(latest, failed);
    candidates.push({
      ...(await candidateOf(mirror, key, latest, budget, now)),
      spent,
      waits,
      turns: turnsOf(spent, budget),
    });
  }
  return {
    due: inOrder(candidates).map((candidate) => dueList(candidate, budget)),
    behind: delaying.reduce((sum, { latest }) => sum + remainingCost(latest, budget), 0),
  };
}

/** A due list with its claim to a place. */
export function dueList(
  candidate: Pick<Candidate, 'key' | 'ageHours' | 'cost'> & Pick<DueList, 'spent' | 'waits'>,
  budget: Pick<Budget, 'perDay' | 'reserved'>,
): DueList {
  const { key, ageHours, cost, spent, waits } = candidate;
  return {
    key,
    requests: cost,
    first: ageHours === Number.POSITIVE_INFINITY,
    spent,
    small: isSmall(candidate, budget),
    worn: turnsOf(spent, budget) > 0,
    waits,
  };
}

/** The later of two instants. Null counts as no instant. */
function later(one: Date | null, other: Date | null): Date | null {
  return one !== null && (other === null || one >= other) ? one : other;
}

/** Requests that the walks of a list have cost since it was last complete. */
export function spentOn(
  latest: readonly LatestSweep[],
  failed: { readonly requests: number } | null,
): number {
  return (openAndComplete(latest).open?.requests ?? 0) + (failed?.requests ?? 0);
}

/** The state by which whole lists are due while single pages are read. */
interface ByPages {
  /** The last slot of conversations. */
  readonly slot: Date | null;
  /** The oldest reading of each list with bookmarks, by inbox. */
  readonly readings: ReadonlyMap<string, Date>;
  readonly now: number;
}

/**
 * True for a list of conversations without bookmarks that was not read since its slot: the spare walks of
 * other lists would take most of the pace from its walk. False while the list rests or waits for its next try
 * after a failure since the slot, or if its walk saves requests after refused tokens, which leaves half of
 * the pace to others. A long list never saves.
 */
function isBehind(
  { key, latest, failed, rest, again }: ListPast,
  { slot, readings, budget, now }: ByPages & { budget: Budget },
): boolean {
  if (key.list !== 'conversations' || readings.has(key.inboxId ?? '')) return false;
  if (rest !== null && rest.getTime() > now) return false;
  const hasFailedSince = failed !== null && slot !== null && failed.lastAt >= slot;
  if (hasFailedSince && again !== null && again.getTime() > now) return false;
  const { open, complete } = openAndComplete(latest);
  const mustSave = open !== undefined && open.restarts >= MOST_RESTARTS && complete !== undefined;
  if (mustSave && maySaveFor(complete.pages, budget)) return false;
  return slot !== null && (complete?.finishedAt?.getTime() ?? 0) < slot.getTime();
}

/**
 * Since when a list of conversations is due, while single pages are read. A list with bookmarks is due only
 * if a sweep of it is open. Another one is due since its slot, and again after a while if spare walks are
 * allowed, also if its sweep failed.
 */
function sinceByPages(
  { inboxId }: ListKey,
  latest: readonly LatestSweep[],
  { slot, readings, allowsSpares, now }: ByPages & { allowsSpares: boolean },
): Date | null {
  if (openAndComplete(latest).open !== undefined) return new Date(now);
  if (readings.has(inboxId ?? '')) return null;
  return new Date(Math.max(slot?.getTime() ?? 0, allowsSpares ? now - SPARE_MS : 0));
}

/**
 * When the first list of conversations without bookmarks is due again while single pages are read, epoch ms;
 * null: all lists have bookmarks. See {@link sinceByPages}. A list that delays spare walks is due before
 * them.
 */
export async function nextWalk(
  mirror: PlanningMirror & Pick<AgendaMirror, 'bookmarks'>,
  budget: Budget,
  now: number,
): Promise<number | null> {
  const readings = await mirror.bookmarks.oldestReadings();
  const sweeps = await mirror.sweeps.latest();
  let first: number | null = null;
  const lists = await listPasts(mirror, sweeps, { budget, readsPages: true });
  for (const { key, latest, rest } of lists) {
    if (key.list !== 'conversations' || readings.has(key.inboxId ?? '')) continue;
    const ended = latest.filter(({ state }) => state === 'complete' || state === 'failed');
    const due =
      openAndComplete(latest).open === undefined
        ? Math.max(now, ...ended.map(({ finishedAt }) => (finishedAt?.getTime() ?? 0) + SPARE_MS))
        : now;
    const at = Math.max(due, rest?.getTime() ?? 0);
    first = Math.min(first ?? at, at);
  }
  return first;
}

/** A list with its newest sweeps, those that failed, its rest ({@link restsUntil}) and its next try. */
interface ListPast {
  readonly key: ListKey;
  readonly latest: readonly LatestSweep[];
  readonly failed: FailedSweeps | null;
  readonly rest: Date | null;
  readonly again: Date | null;
}

async function listPasts(
  mirror: PlanningMirror,
  sweeps: ReadonlyMap<string, readonly LatestSweep[]>,
  options: Omit<RestOptions, 'costs'>,
): Promise<ListPast[]> {
  const pasts: Pick<ListPast, 'key' | 'latest' | 'failed'>[] = [];
  for (const key of await sweepableLists(mirror)) {
    const latest = sweeps.get(listId(key)) ?? [];
    pasts.push({ key, latest, failed: await mirror.sweeps.failedSweeps(key, latest) });
  }
  const costs = failedCosts(pasts.map(({ failed }) => failed));
  return pasts.map(({ key, latest, failed }) => {
    const rest = restsUntil(key, latest, failed, { ...options, costs });
    const again = failed === null ? null : triedAgainAt(failed, { ...options, costs });
    return { key, latest, failed, rest, again };
  });
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
