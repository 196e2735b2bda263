import { MINUTE } from '../../core/clock.ts';
import { INBOXES, keysOf, listId, type ListKey } from '../../core/lists.ts';
import { Backoff } from './backoff.ts';

/** The lists that cannot be read now. A broken list must not delay the others. Times are monotonic ms. */
export class Cooldowns {
  readonly #backoff = new Backoff({ firstMs: 5 * MINUTE, longestMs: 60 * MINUTE });
  /** The lists that failed when no other list was answered, so that the service may be to blame. */
  readonly #inOutage = new Set<string>();

  /**
   * Begins a cooldown, or a longer one after another failure.
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
    return this.#backoff.begin(id, now, leastMs);
  }

  end(key: ListKey): void {
    this.#backoff.end(listId(key));
    this.#inOutage.delete(listId(key));
  }

  has(key: ListKey, now: number): boolean {
    return this.until(key) > now;
  }

  /** When the list's cooldown ends; 0 if it has none. */
  until(key: ListKey): number {
    return this.#backoff.until(listId(key));
  }

  /** The cheapest lists for a test of the service: lists without a cooldown first, then by its end. */
  leastBlamed(inboxes: readonly { readonly id: string }[]): ListKey[] {
    return [INBOXES, ...keysOf(['users'], inboxes)].toSorted((a, b) => this.until(a) - this.until(b));
  }

  /**
   * Ends the cooldowns of an outage. If several lists failed in it, the service was to blame. A single list
   * may be broken by itself, and keeps its cooldown, but not the longer wait for which the service has asked:
   * a person may have ended that wait.
   */
  serviceIsBack(): void {
    for (const id of this.#inOutage)
      if (this.#inOutage.size > 1) this.#backoff.end(id);
      else this.#backoff.shorten(id);
    this.#inOutage.clear();
  }
}
