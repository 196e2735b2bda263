import { type Budget, scheduledCap } from '../../../core/budget.ts';
import { LIST_NAMES, listId, type ListName } from '../../../core/lists.ts';
import {
  type AgendaMirror,
  observations,
  type PlanningMirror,
  remainingCost,
  sweepableLists,
} from '../agenda.ts';
import { type Cron, slotsPerDay } from '../cron.ts';
import { coverOf, coversPerDay } from '../pages/plan.ts';
import { changeRate } from '../planner.ts';
import { type PlannedList, worstAges } from './simulation.ts';

/**
 * The load: the requests a day that all schedules together need, against the budget. `start` prints it, and
 * `plan` its cost. Compare `../forecast.ts` (one resync) and `../agenda.ts` (the lists to sweep now).
 */
export interface Load {
  readonly kinds: readonly KindLoad[];
  /** Requests a day that the schedules need, and requests a day that scheduled work may use. */
  readonly wanted: number;
  readonly available: number;
  /** Null: only whole lists are read. */
  readonly pages: PagesLoad | null;
  /** False if some list was never complete: it counts as one page. */
  readonly complete: boolean;
  /** No list was ever complete: the costs are unknown. */
  readonly isNew: boolean;
}

/** The load of single pages of conversations. */
export interface PagesLoad {
  /** Requests a day that the schedules leave. */
  readonly requests: number;
  /** The number of days over which one reading of every page is spread. */
  readonly days: number;
  /** Every list of conversations was read completely, and none has bookmarks: all are read whole. */
  readonly areWhole: boolean;
}

/** The part of the mirror that {@link loadOf} reads. */
export type LoadMirror = PlanningMirror & Pick<AgendaMirror, 'bookmarks' | 'schedules'>;

/** The load of one kind of list. */
export interface KindLoad {
  readonly list: ListName;
  readonly cron: Cron;
  /** The next three slots, epoch ms. */
  readonly next: readonly number[];
  readonly lists: number;
  readonly requestsPerPass: number;
  readonly passesPerDay: number;
  /** The greatest age that a list of this kind would reach, in ms; null if the schedules fit the budget. */
  readonly worstAgeMs: number | null;
}

/** Each schedule lists its next 3 slots. */
const NEXT_SLOTS = 3;

/** Computes the requests of each schedule's passes, and whether all of them fit the budget. */
export async function loadOf(
  mirror: LoadMirror,
  crons: Readonly<Record<ListName, Cron>>,
  { budget, readPages }: { readonly budget: Budget; readonly readPages: { stretches: boolean } | null },
  now: number,
): Promise<Load> {
  const lists = await plannedLists(mirror, budget, now);
  const conversations = lists.filter(({ key }) => key.list === 'conversations');
  const readings = await mirror.bookmarks.oldestReadings();
  // A list that was never complete may get bookmarks.
  const byPage = conversations.filter(({ key, known }) => !known || readings.has(key.inboxId ?? ''));
  const cover = byPage.reduce((sum, { cost }) => sum + cost, 0);
  const days =
    readPages === null
      ? 1
      : coverOf(await mirror.schedules.all(), cover, { budget, stretches: readPages.stretches, now }).days;
  const kinds = LIST_NAMES.map((list) => {
    const ofKind = lists.filter(({ key }) => key.list === list);
    const requestsPerPass = ofKind.reduce((sum, { cost }) => sum + cost, 0);
    return {
      list,
      cron: crons[list],
      lists: ofKind.length,
      requestsPerPass,
      passesPerDay:
        list === 'conversations' && readPages !== null
          ? coversPerDay(crons[list], now) / days
          : slotsPerDay(crons[list], now),
      next: nextSlots(crons[list], now),
    };
  });
  const wanted = kinds.reduce(
    (sum, { requestsPerPass, passesPerDay }) => sum + requestsPerPass * passesPerDay,
    0,
  );
  const available = scheduledCap(budget);
  const ages = wanted > available ? worstAges(lists, crons, budget, now) : null;
  return {
    kinds: kinds.map((kind) => ({ ...kind, worstAgeMs: ages?.[kind.list] ?? null })),
    wanted,
    available,
    pages:
      readPages === null
        ? null
        : {
            requests: Math.max(0, available - wanted),
            days,
            areWhole: conversations.length > 0 && byPage.length === 0,
          },
    complete: lists.every(({ known }) => known),
    isNew: lists.every(({ known }) => !known),
  };
}

async function plannedLists(
  mirror: PlanningMirror,
  budget: Budget,
  now: number,
): Promise<(PlannedList & { known: boolean })[]> {
  const sweeps = await mirror.sweeps.latest();
  const planned = [];
  for (const key of await sweepableLists(mirror)) {
    const complete = (sweeps.get(listId(key)) ?? []).filter(({ state }) => state === 'complete');
    const rate = changeRate(key.list, observations(await mirror.sweeps.completed(key), now));
    planned.push({ key, cost: remainingCost(complete, budget), rate, known: complete.length > 0 });
  }
  return planned;
}

function nextSlots(cron: Cron, now: number): number[] {
  const slots: number[] = [];
  for (let at = cron.next(now); slots.length < NEXT_SLOTS; at = cron.next(at)) slots.push(at);
  return slots;
}
