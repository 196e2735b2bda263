/** Tells from the answers in this process whether the service is down. Times are monotonic ms. */
export class Signs {
  /** The last answer that showed the service to be up. */
  #lastGoodAt = Number.NEGATIVE_INFINITY;
  /** The last failure of which nothing could show whether others are answered. */
  #undecidedAt = Number.NEGATIVE_INFINITY;
  #isDown = false;
  /** The number of calls that ask elsewhere now. */
  #asking = 0;

  /** The service has answered a request as it should. */
  noteAnswer(at: number): void {
    this.#lastGoodAt = at;
    this.#isDown = false;
  }

  /** A call has failed in an outage. A retry within seconds does not help until the next answer. */
  noteOutage(): void {
    if (this.#asking === 0) this.#isDown = true;
  }

  /** Waits for a request elsewhere. Until it has ended, it is undecided whether the service is down. */
  async whileAsking(elsewhere: () => Promise<unknown>): Promise<void> {
    this.#asking += 1;
    try {
      await elsewhere();
    } finally {
      this.#asking -= 1;
    }
  }

  /** True from the first call that failed in an outage until the next answer. */
  get isDown(): boolean {
    return this.#isDown;
  }

  isSilentSince(at: number): boolean {
    return at > this.#lastGoodAt;
  }

  /**
   * Judges a failure at `at` that no further request could tell from an outage. One call may fail alone; the
   * second without an answer between them shows an outage, and is noted as one.
   * @param since when the call's first request failed
   * @returns true for an outage, false for a call that failed alone, null if it is undecided
   */
  judgeUndecided(since: number, at: number): boolean | null {
    if (!this.isSilentSince(since)) return false;
    const isSecond = this.isSilentSince(this.#undecidedAt);
    this.#undecidedAt = at;
    if (!isSecond) return null;
    this.noteOutage();
    return true;
  }
}
