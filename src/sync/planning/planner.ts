import type { ListKey, ListName } from '../../core/lists.ts';

/** What one complete sweep of a list found: rows that were new, different or gone, over how many hours since the one before. */
export interface Observation {
  readonly changes: number;
  readonly hours: number;
  /** Hours since then. */
  readonly hoursAgo: number;
}

/** A list that is due, with what the planner weighs. Single pages of a list are to become candidates beside it (DESIGN.md, "Planning"). */
export interface Candidate {
  readonly key: ListKey;
  /** Hours since its last complete sweep; infinite where there was none. */
  readonly ageHours: number;
  /** Requests that its sweep will cost: pages of the last one, less those that an open sweep has read already. */
  readonly cost: number;
  /** Changed rows per hour, see {@link changeRate}. */
  readonly rate: number;
  /** Beyond this age it goes before everything else. */
  readonly maxAgeHours: number;
}

/** What may be swept now, in order; what waits for budget, in order; and how many requests must leave the window before the first of those fits. */
export interface Choice<Chosen extends Candidate> {
  readonly start: readonly Chosen[];
  readonly waiting: readonly Chosen[];
  readonly lacking: number;
}

/** Observations lose a factor e of their weight in this time. */
const MEMORY_HOURS = 7 * 24;

/** Gamma priors of the change rate, as changes seen in so many hours: what a list of this kind does before anything is known of it. */
const PRIOR: Record<ListName, { changes: number; hours: number }> = {
  inboxes: { changes: 0.1, hours: 24 },
  users: { changes: 0.2, hours: 24 },
  tags: { changes: 0.2, hours: 24 },
  conversations: { changes: 4, hours: 1 },
};

/** How much a stale row matters, by kind of list: nothing is found in an inbox that nobody knows of. */
const WEIGHT: Record<ListName, number> = { inboxes: 2, users: 1, tags: 1, conversations: 1 };

/** A list that costs more than this share of the day's budget would wait for ever: it begins when half a day's is free, and pauses on the way. */
const LARGE = 0.8;
const ENOUGH_FOR_LARGE = 0.5;

/** What costs so little beside the list that waits may go ahead of it. */
const SMALL = 1 / 50;

/** Changed rows per hour: the Gamma posterior's mean, with exponential forgetting (DESIGN.md, "Planning"). */
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
 * The greedy index of a list: `w (T - (1 - exp(-l T)) / l) / k`, with T the hours since its last complete sweep, l its change rate and k its
 * cost in requests (Kolobov et al. 2019, harmonic staleness). Infinite for a list beyond its `maxAge`, or never read.
 */
export function urgency({ key, ageHours, cost, rate, maxAgeHours }: Candidate): number {
  if (isOverdue({ ageHours, maxAgeHours })) return Number.POSITIVE_INFINITY;
  return (WEIGHT[key.list] * (ageHours + Math.expm1(-rate * ageHours) / rate)) / Math.max(1, cost);
}

/** Greatest index first; of those beyond their age the oldest. */
function inOrder<Weighed extends Candidate>(candidates: readonly Weighed[]): Weighed[] {
  return candidates
    .map((candidate) => ({ candidate, index: urgency(candidate) }))
    .toSorted(
      (a, b) => descending(a.index, b.index) || descending(a.candidate.ageHours, b.candidate.ageHours),
    )
    .map(({ candidate }) => candidate);
}

/**
 * Takes candidates in order as long as they fit into the `left` of `cap` requests. After the first that does not fit nothing goes that would
 * make it wait longer, but what is small beside it, as long as it is within its age.
 */
export function choose<Due extends Candidate>(
  candidates: readonly Due[],
  { left, cap }: { left: number; cap: number },
): Choice<Due> {
  const start: Due[] = [];
  const waiting: Due[] = [];
  let free = left;
  let lacking = 0;
  for (const candidate of inOrder(candidates)) {
    const needed = candidate.cost > LARGE * cap ? ENOUGH_FOR_LARGE * cap : candidate.cost;
    const [first] = waiting;
    const mayGo = first === undefined || (!isOverdue(first) && candidate.cost <= first.cost * SMALL);
    if (mayGo && needed <= free) {
      start.push(candidate);
      free -= candidate.cost;
    } else {
      if (first === undefined) lacking = Math.ceil(needed - free);
      waiting.push(candidate);
    }
  }
  return { start, waiting, lacking };
}

function isOverdue({ ageHours, maxAgeHours }: Pick<Candidate, 'ageHours' | 'maxAgeHours'>): boolean {
  return ageHours >= maxAgeHours;
}

function descending(a: number, b: number): number {
  return a === b ? 0 : a > b ? -1 : 1;
}
