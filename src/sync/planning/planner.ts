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
}

/**
 * Candidates to sweep now, and candidates that wait for budget, both in order. `shortfall`: the requests that
 * must leave the budget's window before the first waiting one fits; 0 if none waits.
 */
export interface Choice<Chosen extends Candidate> {
  readonly start: readonly Chosen[];
  readonly waiting: readonly Chosen[];
  readonly shortfall: number;
}

/** From this age on a list is overdue: it comes before every list that is not, whatever its index. */
const OVERDUE_HOURS = 24;

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
 * A list that costs more than 80 % of the scheduled budget starts when half of that budget is free, and
 * pauses on the way. It would otherwise wait for ever.
 */
const LARGE = 0.8;
const ENOUGH_FOR_LARGE = 0.5;

/** A list may start before the waiting one if it costs at most 1/50 of it. */
const SMALL = 1 / 50;

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
 * The greedy index of a list: `w (T - (1 - exp(-l T)) / l) / k`. w is the weight of its kind, T the hours
 * since its last complete sweep, l its change rate, k its cost in requests (Kolobov et al. 2019, harmonic
 * staleness). Infinite for a list that is overdue or was never read.
 */
export function urgency({ key, ageHours, cost, rate }: Candidate): number {
  if (isOverdue({ ageHours })) return Number.POSITIVE_INFINITY;
  return (WEIGHT[key.list] * (ageHours + Math.expm1(-rate * ageHours) / rate)) / Math.max(1, cost);
}

/** Sorts by index, greatest first; overdue candidates by age, oldest first. */
function byUrgency<Weighed extends Candidate>(candidates: readonly Weighed[]): Weighed[] {
  return candidates
    .map((candidate) => ({ candidate, index: urgency(candidate) }))
    .toSorted(
      (a, b) => descending(a.index, b.index) || descending(a.candidate.ageHours, b.candidate.ageHours),
    )
    .map(({ candidate }) => candidate);
}

/**
 * The planner: chooses the candidates that start now, in order, while they fit into the `left` of `cap`
 * requests. Once a candidate does not fit, only much smaller ones (at most 1/50 of its cost) may still start,
 * and only until it is overdue. Pure: `agenda.ts` calls it for the daemon, `simulation.ts` for days to come.
 */
export function choose<Due extends Candidate>(
  candidates: readonly Due[],
  { left, cap }: { left: number; cap: number },
): Choice<Due> {
  const start: Due[] = [];
  const waiting: Due[] = [];
  let free = left;
  let shortfall = 0;
  for (const candidate of byUrgency(candidates)) {
    const needed = candidate.cost > LARGE * cap ? ENOUGH_FOR_LARGE * cap : candidate.cost;
    const [first] = waiting;
    const mayStart = first === undefined || (!isOverdue(first) && candidate.cost <= first.cost * SMALL);
    if (mayStart && needed <= free) {
      start.push(candidate);
      free -= candidate.cost;
    } else {
      if (first === undefined) shortfall = Math.ceil(needed - free);
      waiting.push(candidate);
    }
  }
  return { start, waiting, shortfall };
}

function isOverdue({ ageHours }: Pick<Candidate, 'ageHours'>): boolean {
  return ageHours >= OVERDUE_HOURS;
}

function descending(a: number, b: number): number {
  return a === b ? 0 : a > b ? -1 : 1;
}
