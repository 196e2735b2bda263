import { type Budget, hourlyShare, IN_FLIGHT, scheduledCap } from '../../core/budget.ts';
import type { ListKey, ListName } from '../../core/lists.ts';

/** The changes that one complete sweep found: rows that were new, different or gone. */
export interface Observation {
  readonly changes: number;
  /** Hours between this sweep and the one before. */
  readonly hours: number;
  /** Hours from this sweep until now. */
  readonly hoursAgo: number;
}

/** A list that is due, with the figures that the planner compares. */
export interface Candidate {
  readonly key: ListKey;
  /** Hours since its last complete sweep; infinite if it has none. */
  readonly ageHours: number;
  /** Requests that its sweep will still cost. */
  readonly cost: number;
  /** Changed rows an hour, see {@link changeRate}. */
  readonly rate: number;
  /** Turns that it has used up since its last complete sweep, see {@link turnOf}; missing: none. */
  readonly turns?: number;
}

/** The figures by which a list gets a place. */
export interface PlaceClaim {
  /** It may have one of the places that are only for small lists. */
  readonly small: boolean;
  /** It has used up a turn: all such lists share one place. Missing: it has not. */
  readonly worn?: boolean;
}

/** From this age on a list is overdue: it comes before every list that is not, whatever its index. */
const OVERDUE_HOURS = 24;

/**
 * From this age on a list of inboxes that costs one request comes before all lists. The overdue lists of many
 * inboxes can take hours of the night's pace. At most 24 requests a day come first for this reason.
 */
const FIRST_HOURS = 1;

/** An observation's weight falls by a factor of e every 7 days. */
const MEMORY_HOURS = 7 * 24;

/** Gamma priors of the change rate, as changes in a number of hours: they apply to a list without sweeps. */
const PRIOR: Record<ListName, { changes: number; hours: number }> = {
  inboxes: { changes: 0.1, hours: 24 },
  users: { changes: 0.2, hours: 24 },
  tags: { changes: 0.2, hours: 24 },
  conversations: { changes: 4, hours: 1 },
};

/** The weight of a stale row, by kind of list. Inboxes count double: an unknown inbox hides all its lists. */
const WEIGHT: Record<ListName, number> = { inboxes: 2, users: 1, tags: 1, conversations: 1 };

/**
 * At most this many lists are swept side by side: one for each request in flight, so that slow answers do not
 * lower the rate.
 */
export const PLACES = IN_FLIGHT;

/** Two more places are only for small lists, so that larger ones never keep them waiting. */
const PLACES_FOR_SMALL = 2;

/** One more place is for lists that have used up a turn. */
const PLACES_FOR_WORN = 1;

/** A small list costs at most 1/20 of an hour's share of the budget: 3 minutes of the pace. */
const SMALL = 1 / 20;

/**
 * Requests of one turn. A sweep that has used them up pauses and gives up its place, because its list may
 * have no end. `PLACES` turns are the requests of a day, so that lists without an end fill all places for a
 * day at most.
 */
export function turnOf(budget: Pick<Budget, 'perDay' | 'reserved'>): number {
  return Math.max(1, Math.ceil(scheduledCap(budget) / PLACES));
}

/** Turns that a list has used up. @param spent requests that its walks have cost since it was complete */
export function turnsOf(spent: number, budget: Pick<Budget, 'perDay' | 'reserved'>): number {
  return Math.floor(spent / turnOf(budget));
}

/** Changed rows an hour: the mean of the Gamma posterior; old observations weigh exponentially less. */
export function changeRate(list: ListName, observations: readonly Observation[]): number {
  let { changes, hours } = PRIOR[list];
  for (const observation of observations) {
    const weight = Math.exp(-observation.hoursAgo / MEMORY_HOURS);
    changes += weight * observation.changes;
    hours += weight * observation.hours;
  }
  return changes / hours;
}

/**
 * The index of a list: `w l T² / 2k`, the waiting that its sweep ends for each request. w is the weight of
 * its kind, l its change rate, T the hours since its last complete sweep, k its cost in requests: l T changes
 * have waited for T / 2 on average. Infinite for a list that is overdue or was never read.
 */
export function urgency({ key, ageHours, cost, rate }: Candidate): number {
  if (isOverdue({ ageHours })) return Number.POSITIVE_INFINITY;
  return (WEIGHT[key.list] * rate * ageHours ** 2) / (2 * Math.max(1, cost));
}

/**
 * The planner: the order in which candidates begin. Lists with fewer turns come first, then a short list of
 * inboxes, then those with the greatest index; of the overdue, the oldest.
 * Pure: `agenda.ts` calls it for the daemon, `load/simulation.ts` for days to come.
 */
export function inOrder<Due extends Candidate>(candidates: readonly Due[]): Due[] {
  return candidates
    .map((candidate) => ({ candidate, index: urgency(candidate) }))
    .toSorted(
      (a, b) =>
        descending(b.candidate.turns ?? 0, a.candidate.turns ?? 0) ||
        Number(comesFirst(b.candidate)) - Number(comesFirst(a.candidate)) ||
        descending(a.index, b.index) ||
        descending(a.candidate.ageHours, b.candidate.ageHours),
    )
    .map(({ candidate }) => candidate);
}

/**
 * True for a list that was complete before, and whose sweep costs a few requests at most. Never for
 * conversations: with many inboxes, their lists alone would fill the places for small ones.
 */
export function isSmall(
  { key, ageHours, cost }: Pick<Candidate, 'key' | 'ageHours' | 'cost'>,
  budget: Pick<Budget, 'perDay' | 'reserved'>,
): boolean {
  const isShort = cost <= Math.max(1, SMALL * hourlyShare(budget));
  return key.list !== 'conversations' && Number.isFinite(ageHours) && isShort;
}

/**
 * True if a sweep may begin beside those that run.
 * @param running the claims of the sweeps under way
 * @param places lists to sweep side by side: `PLACES`, or 1 to test a service in an outage
 */
export function mayBegin(
  { small, worn = false }: PlaceClaim,
  running: readonly PlaceClaim[],
  places = PLACES,
): boolean {
  if (places < PLACES) return running.length < places;
  const others = running.filter((sweep) => sweep.worn !== true);
  if (worn) return running.length - others.length < PLACES_FOR_WORN;
  const large = others.filter((sweep) => !sweep.small).length;
  return others.length < places + PLACES_FOR_SMALL && (small || large < places);
}

function comesFirst({ key, ageHours, cost }: Candidate): boolean {
  return key.list === 'inboxes' && cost === 1 && ageHours >= FIRST_HOURS;
}

function isOverdue({ ageHours }: Pick<Candidate, 'ageHours'>): boolean {
  return ageHours >= OVERDUE_HOURS;
}

function descending(a: number, b: number): number {
  return a === b ? 0 : a > b ? -1 : 1;
}
