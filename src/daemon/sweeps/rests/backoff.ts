interface Wait {
  readonly from: number;
  readonly until: number;
  readonly lasts: number;
}

/** Waits after failures, by name; each is twice as long as the one before. Times are monotonic ms. */
export class Backoff {
  readonly #firstMs: number;
  readonly #longestMs: number;
  readonly #waits = new Map<string, Wait>();

  constructor({ firstMs, longestMs }: { firstMs: number; longestMs: number }) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  /**
   * Begins a wait, or a longer one after another failure.
   * @param leastMs the wait lasts at least this long
   * @returns its length in ms
   */
  begin(name: string, now: number, leastMs = 0): number {
    const before = this.#waits.get(name)?.lasts ?? this.#firstMs / 2;
    const lasts = Math.min(2 * before, this.#longestMs);
    const waitMs = Math.max(lasts, leastMs);
    this.#waits.set(name, { from: now, until: now + waitMs, lasts });
    return waitMs;
  }

  /** Shortens a wait to its own length, if `leastMs` has made it longer. */
  shorten(name: string): void {
    const wait = this.#waits.get(name);
    if (wait !== undefined) this.#waits.set(name, { ...wait, until: wait.from + wait.lasts });
  }

  end(name: string): void {
    this.#waits.delete(name);
  }

  /** True from {@link begin} until {@link end}, also when the wait is over. */
  has(name: string): boolean {
    return this.#waits.has(name);
  }

  /** When the wait ends; 0 if there is none. */
  until(name: string): number {
    return this.#waits.get(name)?.until ?? 0;
  }
}
