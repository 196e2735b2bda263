import { MirrorError } from '../core/errors.ts';
import { plural } from '../core/humanize.ts';
import type { ListName } from '../core/lists.ts';

/** A pass gives up a kind of lists after this many failures, if no list of the kind could be read. */
const MOST_FAILURES = 4;

/**
 * How the kinds of lists do in a pass. A list that fails costs five requests: where a kind fails in every
 * inbox, a `sync` by cron would spend the day on it.
 */
export class Kinds {
  readonly #read = new Set<ListName>();
  readonly #failures = new Map<ListName, number>();
  readonly #most = new Map<ListName, number>();

  /** One failure is enough to give up a kind that failed in an earlier run too. */
  doubt(list: ListName): void {
    this.#most.set(list, 1);
  }

  noteRead(list: ListName): void {
    this.#read.add(list);
  }

  noteFailure(list: ListName): void {
    this.#failures.set(list, this.#failuresOf(list) + 1);
  }

  /** @throws MirrorError `ANSWER_FAILED` if the pass has given up the kind */
  throwIfGivenUp(list: ListName): void {
    const failures = this.#failuresOf(list);
    if (this.#read.has(list) || failures < (this.#most.get(list) ?? MOST_FAILURES)) return;
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
