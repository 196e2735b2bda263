import { MINUTE } from '../../../core/clock.ts';
import { INBOXES, keysOf, listId, type ListKey } from '../../../core/lists.ts';
import type { DueList } from '../../../sync/planning/agenda.ts';
import { Backoff } from './backoff.ts';
import { KindRests, LETS_OTHERS_FIRST_MS } from './kind-rests.ts';

/** A list whose 429 has shut the gate rests this many ms after the pause. */
const GIVE_WAY_MS = 5 * MINUTE;

/** The lists that cannot be read now. A broken list must not delay the others. Times are monotonic ms. */
export class ListRests {
  readonly #backoff = new Backoff({ firstMs: 5 * MINUTE, longestMs: 60 * MINUTE });
  /** When the last pause ends that a 429 for the list has begun, for lists that were not answered since. */
  readonly #pauseEnds = new Map<string, number>();
  /** The lists whose 429s have shut the gate. */
  readonly #givingWay = new Backoff({ firstMs: GIVE_WAY_MS, longestMs: GIVE_WAY_MS });
  readonly #kinds = new KindRests();
  /** The lists that failed when no other list was answered, so that the service may be to blame. */
  readonly #inOutage = new Set<string>();
  /** The lists whose rest ended with an outage, and that have had no good answer since. */
  readonly #released = new Set<string>();

  /**
   * Begins a rest, or a longer one after another failure.
   * @param leastMs the service asks to wait this long
   * @returns its length in ms
   */
  begin(
    key: ListKey,
    { now, inOutage, leastMs }: { now: number; inOutage: boolean; leastMs?: number },
  ): number {
    const id = listId(key);
    if (inOutage) this.#inOutage.add(id);
    else this.#inOutage.delete(id);
    this.#kinds.noteFailure(key, now, inOutage);
    return this.#backoff.begin(id, now, leastMs);
  }

  /**
   * Lets other lists go first after a pause that a 429 for this list has begun, also before those whose
   * 429s began other pauses of the last hours. If such lists tried the gate again, they would leave the
   * others a few requests an hour.
   * @param pauseEnds monotonic ms
   */
  giveWay(key: ListKey, pauseEnds: number): void {
    this.#pauseEnds.set(listId(key), pauseEnds);
    for (const [id, ownEnds] of this.#pauseEnds)
      if (pauseEnds - ownEnds < LETS_OTHERS_FIRST_MS) this.#givingWay.begin(id, pauseEnds);
    this.#kinds.giveWay(key, pauseEnds + GIVE_WAY_MS);
  }

  /** The lists that may be read now. After {@link KindRests}, one list tests a kind that fails. */
  withoutResting(due: readonly DueList[], running: readonly DueList[], now: number): DueList[] {
    const ready = due.filter(({ key, waits }) => !waits && !this.has(key, now));
    return this.#kinds.withoutResting(ready, running, now);
  }

  /** True for a list that would not show whether the service is up: it has failed, or one of its kind. */
  isBlamed(key: ListKey): boolean {
    return this.hasFailed(key) || this.#kinds.isBlamed(key.list);
  }

  end(key: ListKey): void {
    this.#backoff.end(listId(key));
    this.#givingWay.end(listId(key));
    this.#pauseEnds.delete(listId(key));
    this.#kinds.noteAnswer(key);
    this.#inOutage.delete(listId(key));
    this.#released.delete(listId(key));
  }

  has(key: ListKey, now: number): boolean {
    return Math.max(this.until(key), this.#givingWay.until(listId(key))) > now;
  }

  /** True from {@link begin} until the list is read, also when its rest is over. */
  hasFailed(key: ListKey): boolean {
    return this.#backoff.has(listId(key));
  }

  /** When the list's rest ends; 0 if it has none. */
  until(key: ListKey): number {
    return this.#backoff.until(listId(key));
  }

  /**
   * The cheapest lists for a test of the service: lists without a rest first, then by its end.
   * @param failedAt orders those with the same end
   */
  leastBlamed(inboxes: readonly { readonly id: string }[], failedAt: (key: ListKey) => number): ListKey[] {
    return [INBOXES, ...keysOf(['users'], inboxes)].toSorted(
      (a, b) => this.until(a) - this.until(b) || failedAt(a) - failedAt(b),
    );
  }

  /**
   * Ends the rests of an outage. If several lists failed in it, the service was to blame. A single list
   * may be broken by itself, and so may lists that fail again after their release. Such lists keep their
   * rests, but not the longer wait for which the service has asked: a person may have ended that wait.
   */
  serviceIsBack(): void {
    const isSingle = this.#inOutage.size === 1;
    for (const id of this.#inOutage) {
      if (isSingle || this.#released.has(id)) this.#backoff.shorten(id);
      else {
        this.#backoff.end(id);
        this.#released.add(id);
      }
    }
    this.#inOutage.clear();
  }
}
