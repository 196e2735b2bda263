import type { Budget } from '../../core/budget.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { StreakPlan } from '../deps.ts';
import { turnOf } from '../planning/planner.ts';

/** A walk restarts at its first page at most twice after a refused token, whatever run or turn reads it. */
export const MOST_RESTARTS = 2;

/** A list of 1.25 turns or more is read at the pace: to save for one turn takes half a day. */
const MOST_IN_STREAK = 1.25;

/** A list may have grown by a tenth since it was last complete. */
const GROWN = 1.1;

/** A list that has had more pages than were known may have half as many more, and at least 20 more. */
const LONGER = { factor: 1.5, pages: 20 };

/** A walk that has to read its pages in a row would wait amid them: its page token may expire meanwhile. */
export class StreakBroken extends Error {
  constructor() {
    super('the walk would wait amid its pages');
  }
}

/** Which walk has to read its pages in a row: the last one of a sweep whose page tokens seem to expire. */
export class Streak {
  #known: number | null;
  #expected: number;

  /**
   * @param known pages of the last complete sweep; null if there is none, or if the walk may wait
   * @param reached pages that the list has had since then
   */
  constructor(known: number | null, reached: number) {
    this.#known = known;
    this.#expected = Math.ceil(GROWN * (known ?? 0)) + 1;
    if (reached >= this.#expected) this.#reach(reached);
  }

  /** How the next page is requested; undefined if the walk may wait before it. */
  next({ list, restarts, pages }: Sweep): StreakPlan | undefined {
    // The first pages of `inboxes` are read ahead, by the pace.
    if (list === 'inboxes' || restarts < MOST_RESTARTS || this.#known === null) return undefined;
    return { known: this.#known, expected: this.#expected, read: pages };
  }

  /** The walk begins again. */
  restart({ pages }: Sweep): void {
    this.#reach(pages);
  }

  #reach(pages: number): void {
    if (this.#known === null || pages <= this.#known) return;
    this.#known = pages;
    this.#expected = Math.ceil(Math.max(LONGER.factor * pages, pages + LONGER.pages));
  }
}

/** The most requests that a walk may save up for. */
export function mostInStreak(budget: Pick<Budget, 'perDay' | 'reserved'>): number {
  return Math.max(1, Math.floor(MOST_IN_STREAK * turnOf(budget)));
}

/** True if a list is short enough for a walk to save up a request for each of its pages. */
export function maySaveFor(pages: number, budget: Pick<Budget, 'perDay' | 'reserved'>): boolean {
  return pages < mostInStreak(budget);
}
