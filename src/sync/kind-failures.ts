import { MirrorError } from '../core/errors.ts';
import { plural } from '../core/humanize.ts';
import type { ListName } from '../core/lists.ts';

/** A pass gives up a kind of list after this many failures, if it could read no list of the kind. */
const MOST_FAILURES = 4;

/**
 * Counts the failures of each kind of list in a pass, to give a kind up (docs/decisions/0004). A list that
 * fails costs five requests: where a kind fails in every inbox, a `sync` by cron would spend the day on it.
 */
export class KindFailures {
  readonly #read = new Set<ListName>();
  readonly #failures = new Map<ListName, number>();
  /** A kind is given up after this many failures. */
  readonly #most = new Map<ListName, number>();
  readonly #allowedOf: (list: ListName) => number;

  /** @param allowedOf how many lists of a kind may fail that has failed in an earlier run */
  constructor(allowedOf: (list: ListName) => number) {
    this.#allowedOf = allowedOf;
  }

  /** Gives up the kind sooner, because the lists to be read next failed in an earlier run. */
  doubt(list: ListName): void {
    if (!this.#most.has(list)) this.#most.set(list, this.#allowedOf(list));
  }

  /**
   * Lets further lists of the kind fail, because those to be read next did not fail in an earlier run: broken
   * lists must not keep the healthy ones of their kind from being read.
   * @param isReadable others were read since the newest of the broken ones began to fail
   */
  trust(list: ListName, isReadable: boolean): void {
    const further = Math.max(isReadable ? MOST_FAILURES : 1, this.#allowedOf(list));
    this.#most.set(list, this.#failuresOf(list) + further);
  }

  noteRead(list: ListName): void {
    this.#read.add(list);
  }

  noteFailure(list: ListName): void {
    this.#failures.set(list, this.#failuresOf(list) + 1);
  }

  /** True if the pass has read a list of the kind. */
  wasRead(list: ListName): boolean {
    return this.#read.has(list);
  }

  /** @throws MirrorError `ANSWER_FAILED` if the pass has given up the kind */
  throwIfGivenUp(list: ListName): void {
    const failures = this.#failuresOf(list);
    const most = this.#most.get(list) ?? MOST_FAILURES;
    if (this.#read.has(list) || failures < most) return;
    throw new MirrorError(
      'ANSWER_FAILED',
      `${plural(failures, 'other list')} of ${list} failed, and none could be read, so nothing was sent. ` +
        'The next run tries again.',
    );
  }

  #failuresOf(list: ListName): number {
    return this.#failures.get(list) ?? 0;
  }
}
