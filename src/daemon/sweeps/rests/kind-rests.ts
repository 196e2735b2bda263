import { HOUR, MINUTE } from '../../../core/clock.ts';
import { listId, type ListKey, type ListName } from '../../../core/lists.ts';
import { Backoff } from './backoff.ts';

/** A kind of list rests when this many of its lists have failed, and none was answered since. */
const LEAST_LISTS = 3;

/**
 * A list that failed lets others go first for this many ms. If the schedules are beyond the budget, a list
 * that always came last would never be read.
 */
export const LETS_OTHERS_FIRST_MS = 4 * HOUR;

/**
 * The kinds of list that fail, in every inbox as it seems. After a rest one list shows whether its kind can
 * be read again: with a hundred inboxes, tries for each of them would take the day. Times are monotonic ms.
 */
export class KindRests {
  /** When the lists whose last try failed did so, the longest untried first. */
  readonly #failed = new Map<string, number>();
  /** By kind the lists that have failed since one was answered. */
  readonly #sinceAnswer = new Map<ListName, Set<string>>();
  readonly #rests = new Backoff({ firstMs: 5 * MINUTE, longestMs: 60 * MINUTE });
  /** Until when the kinds of which a list has drawn a 429 let others go first. */
  readonly #givingWay = new Map<ListName, number>();

  /** @param inOutage the service may be to blame, so the kind does not rest */
  noteFailure(key: ListKey, at: number, inOutage = false): void {
    const id = listId(key);
    this.#failed.delete(id);
    this.#failed.set(id, at);
    this.#sinceAnswer.set(key.list, (this.#sinceAnswer.get(key.list) ?? new Set()).add(id));
    const rests = this.#rests.until(key.list) > at;
    if (!inOutage && !rests && this.#isDoubted(key.list)) this.#rests.begin(key.list, at);
  }

  /**
   * A 429 for the list has begun a pause. Kinds of which several lists drew one let others go first until the
   * newest pause is over.
   */
  giveWay(key: ListKey, until: number): void {
    this.noteFailure(key, until);
    if (this.#countOf(key.list) > 1) this.#givingWay.set(key.list, until);
    for (const kind of this.#givingWay.keys()) this.#givingWay.set(kind, until);
  }

  noteAnswer(key: ListKey): void {
    this.#failed.delete(listId(key));
    this.#sinceAnswer.delete(key.list);
    this.#rests.end(key.list);
    this.#givingWay.delete(key.list);
  }

  /** True if a list of the kind has failed, and none was answered since. */
  isBlamed(list: ListName): boolean {
    return this.#sinceAnswer.has(list);
  }

  /**
   * Lists that have not failed lately come first. Of a kind that fails at most one list is left: the first
   * of those, or the one that was tried longest ago.
   */
  withoutResting<Due extends { readonly key: ListKey }>(
    due: readonly Due[],
    running: readonly { readonly key: ListKey }[],
    now: number,
  ): Due[] {
    const tests = new Map<ListName, Due>();
    const ready = due.filter(({ key }) => (this.#givingWay.get(key.list) ?? 0) <= now);
    for (const one of ready) {
      const { list } = one.key;
      if (this.#rests.until(list) > now || running.some(({ key }) => key.list === list)) continue;
      const test = tests.get(list);
      if (test === undefined || this.#failureRank(one.key) < this.#failureRank(test.key))
        tests.set(list, one);
    }
    return ready
      .filter((one) => !this.#isDoubted(one.key.list) || tests.get(one.key.list) === one)
      .toSorted((a, b) => Number(this.#isLast(a.key, now)) - Number(this.#isLast(b.key, now)));
  }

  #isDoubted(list: ListName): boolean {
    return this.#countOf(list) >= LEAST_LISTS;
  }

  #countOf(list: ListName): number {
    return this.#sinceAnswer.get(list)?.size ?? 0;
  }

  #isLast(key: ListKey, now: number): boolean {
    const failedAt = this.#failed.get(listId(key));
    return failedAt !== undefined && now - failedAt < LETS_OTHERS_FIRST_MS;
  }

  /** -1 for a list that has not failed. */
  #failureRank(key: ListKey): number {
    return [...this.#failed.keys()].indexOf(listId(key));
  }
}
