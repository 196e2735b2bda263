import { LIST_NAMES, listId, type ListKey, type ListName } from '../../core/lists.ts';
import type { Reader } from '../../mirror/mirror.ts';
import { type AgendaLimits, observations, remainingCost } from './agenda.ts';
import type { Cron } from './cron.ts';
import { changeRate } from './planner.ts';
import { type PlannedList, worstAges } from './simulation.ts';

/** What the schedules will ask of the day's budget. */
export interface Outlook {
  readonly kinds: readonly KindOutlook[];
  /** Requests a day that the schedules want, and that scheduled work may use. */
  readonly wanted: number;
  readonly available: number;
  /** False where a list was never read whole: its first page is all that is counted of it. */
  readonly complete: boolean;
}

export interface KindOutlook {
  readonly list: ListName;
  readonly cron: Cron;
  /** Epoch ms. */
  readonly next: readonly number[];
  readonly lists: number;
  readonly requestsPerPass: number;
  readonly passesPerDay: number;
  /** Milliseconds that a list of this kind would be old at the worst; null where the schedules fit and it is as they say. */
  readonly worstAgeMs: number | null;
}

export interface OutlookLimits extends AgendaLimits {
  readonly requestsPerSecond: number;
}

const DAY_MS = 24 * 3_600_000;
const SHOWN = 3;
const SLOTS_COUNTED = 300;
const DAYS_COUNTED = 28;

/** Works out what a pass of each schedule costs, and whether all of them fit; where they do not, what they will really give. Sends nothing. */
export async function outlookOf(
  store: Pick<Reader, 'liveInboxes' | 'latestSweeps' | 'completeSweeps'>,
  crons: Readonly<Record<ListName, Cron>>,
  limits: OutlookLimits,
  now: number,
): Promise<Outlook> {
  const lists = await plannedLists(store, limits.pageSize, now);
  const kinds = LIST_NAMES.map((list) => {
    const own = lists.filter(({ key }) => key.list === list);
    const requestsPerPass = own.reduce((sum, { cost }) => sum + cost, 0);
    return {
      list,
      cron: crons[list],
      lists: own.length,
      requestsPerPass,
      passesPerDay: slotsPerDay(crons[list], now),
      next: nextSlots(crons[list], now),
    };
  });
  const wanted = kinds.reduce(
    (sum, { requestsPerPass, passesPerDay }) => sum + requestsPerPass * passesPerDay,
    0,
  );
  const available = limits.requestsPerDay - limits.requestsReserved;
  const ages =
    wanted > available
      ? worstAges(lists, crons, { cap: available, requestsPerSecond: limits.requestsPerSecond }, now)
      : null;
  return {
    kinds: kinds.map((kind) => ({ ...kind, worstAgeMs: ages?.[kind.list] ?? null })),
    wanted,
    available,
    complete: lists.every(({ known }) => known),
  };
}

async function plannedLists(
  store: Pick<Reader, 'liveInboxes' | 'latestSweeps' | 'completeSweeps'>,
  pageSize: number,
  now: number,
): Promise<(PlannedList & { known: boolean })[]> {
  const sweeps = await store.latestSweeps();
  const inboxes = (await store.liveInboxes()).filter(({ suspect }) => !suspect);
  const keys: ListKey[] = [
    { list: 'inboxes', inboxId: null },
    ...inboxes.flatMap(({ id }) =>
      LIST_NAMES.filter((list) => list !== 'inboxes').map((list) => ({ list, inboxId: id })),
    ),
  ];
  const planned = [];
  for (const key of keys) {
    const complete = (sweeps.get(listId(key)) ?? []).filter(({ state }) => state === 'complete');
    const rate = changeRate(key.list, observations(await store.completeSweeps(key), now));
    planned.push({ key, cost: remainingCost(complete, pageSize), rate, known: complete.length > 0 });
  }
  return planned;
}

function nextSlots(cron: Cron, now: number): number[] {
  const slots: number[] = [];
  for (let at = cron.next(now); slots.length < SHOWN; at = cron.next(at)) slots.push(at);
  return slots;
}

function slotsPerDay(cron: Cron, now: number): number {
  const until = now + DAYS_COUNTED * DAY_MS;
  let at = now;
  let slots = 0;
  while (slots < SLOTS_COUNTED && cron.next(at) < until) {
    at = cron.next(at);
    slots += 1;
  }
  return slots < SLOTS_COUNTED ? slots / DAYS_COUNTED : (slots * DAY_MS) / (at - now);
}
