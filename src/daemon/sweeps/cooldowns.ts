import { MINUTE } from '../../core/clock.ts';
import { INBOXES, keysOf, listId, type ListKey } from '../../core/lists.ts';

/** The first cooldown of a list, in ms. Each further one is twice as long, up to the longest. */
const FIRST_MS = 5 * MINUTE;
const LONGEST_MS = 60 * MINUTE;

interface Cooldown {
  readonly until: number;
  readonly lasts: number;
  /** No other list was answered at that time, so the service may be to blame. */
  readonly inOutage: boolean;
}

/** The lists that cannot be read now. A broken list must not delay the others. Times are monotonic ms. */
export class Cooldowns {
  readonly #cooldowns = new Map<string, Cooldown>();

  /**
   * Begins a cooldown, or a longer one after another failure.
   * @param leastMs the service asks to wait this long
   * @returns its length in ms
   */
  begin(
    key: ListKey,
    { now, inOutage, leastMs = 0 }: { now: number; inOutage: boolean; leastMs?: number },
  ): number {
    const lasts = Math.min((this.#cooldowns.get(listId(key))?.lasts ?? FIRST_MS / 2) * 2, LONGEST_MS);
    const wait = Math.max(lasts, leastMs);
    this.#cooldowns.set(listId(key), { until: now + wait, lasts, inOutage });
    return wait;
  }

  end(key: ListKey): void {
    this.#cooldowns.delete(listId(key));
  }

  has(key: ListKey, now: number): boolean {
    return this.until(key) > now;
  }

  /** When the list's cooldown ends; 0 if it has none. */
  until(key: ListKey): number {
    return this.#cooldowns.get(listId(key))?.until ?? 0;
  }

  /** The cheapest lists for a test of the service: lists without a cooldown first, then by its end. */
  leastBlamed(inboxes: readonly { readonly id: string }[]): ListKey[] {
    return [INBOXES, ...keysOf(['users'], inboxes)].toSorted((a, b) => this.until(a) - this.until(b));
  }

  /**
   * Ends the cooldowns of an outage. If several lists failed in it, the service was to blame. A single list
   * may be broken by itself, and keeps its cooldown.
   */
  serviceIsBack(): void {
    const inOutage = [...this.#cooldowns].filter(([, cooldown]) => cooldown.inOutage);
    for (const [id, cooldown] of inOutage) {
      if (inOutage.length > 1) this.#cooldowns.delete(id);
      else this.#cooldowns.set(id, { ...cooldown, inOutage: false });
    }
  }
}
