import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import { isPassingFailure } from '../../core/errors.ts';

/**
 * After a failure of the database the loop waits this many ms at first, then twice as long each time, and at
 * most. A restarted server answers within seconds; a full disk stays full.
 */
const FIRST_REST_MS = SECOND;
const LONGEST_REST_MS = 30 * SECOND;

/**
 * A sweep or an order that the database has let fail counts as a failure for at most 10 minutes. A written
 * page or a complete list ends it earlier, a tick does not: a full disk can still be read.
 */
const WRITE_FAILURE_MS = 10 * MINUTE;

/** The daemon's knowledge of its database. Times are monotonic ms. */
export class DatabaseHealth {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #rest = { ms: 0, until: 0 };
  #writeFailure: { readonly message: string; readonly until: number } | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** True for a while after a failure. */
  get rests(): boolean {
    return this.#clock.monotonic() < this.#rest.until;
  }

  /** Why the database has let a sweep or an order fail lately; null if it has not. */
  get writeFailure(): string | null {
    const failure = this.#writeFailure;
    return failure !== null && this.#clock.monotonic() < failure.until ? failure.message : null;
  }

  /** A page was written, or a list completed. */
  works(): void {
    this.#writeFailure = null;
    // A rest under way is kept: the write of another list may have failed only a moment ago.
    this.#rest = { ms: 0, until: this.#rest.until };
  }

  /** The database has failed. Lists that are swept side by side fail together: that is one failure. */
  fails(): void {
    if (this.rests) return;
    const ms = Math.min(Math.max(2 * this.#rest.ms, FIRST_REST_MS), LONGEST_REST_MS);
    this.#rest = { ms, until: this.#clock.monotonic() + ms };
  }

  /** A sweep or an order has ended with this error. */
  workFailed(error: unknown): void {
    if (!isPassingFailure(error) || error.code !== 'DATABASE') return;
    this.#writeFailure = { message: error.message, until: this.#clock.monotonic() + WRITE_FAILURE_MS };
  }
}
