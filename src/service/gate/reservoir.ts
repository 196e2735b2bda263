import type { Budget } from '../../core/budget.ts';
import { type Clock, HOUR, MINUTE, SECOND } from '../../core/clock.ts';
import type { MirrorError } from '../../core/errors.ts';
import type { Ledger } from '../../core/ledger.ts';
import { budgetSpent } from './errors.ts';
import type { Throttle } from './throttle.ts';

/**
 * While the reservoir lasts, the ledger fills it again when a request has left the window, but no sooner and
 * no later than this many ms after the last filling.
 */
const FILL_MS = { least: 10 * MINUTE, most: HOUR };

/**
 * A command waits at most this many ms in all for the budget. One that comes each day at the same time comes
 * half a minute too early, and half a minute more on each further day.
 */
export const BUDGET_PATIENCE_MS = 5 * MINUTE;

/** Waits up to this many ms cost no patience: yesterday's requests leave the window at the pace of a sync. */
const SHORT_WAIT_MS = 5 * SECOND;

/** A wait is reported if it takes this many ms, or this many longer than the one reported last. */
export const WORTH_WORDS_MS = 3 * SECOND;

/**
 * A waiting call polls the ledger after this many ms at most: a person may open the gate, and another process
 * may give a slot back or set the clock.
 */
export const LEDGER_POLL_MS = MINUTE;

export interface ReservoirOptions {
  readonly ledger: Pick<Ledger, 'budgetLeft'>;
  readonly clock: Clock;
  readonly budget: Pick<Budget, 'perSecond' | 'perDay' | 'reserved' | 'lowered' | 'isUsedUp'>;
  /** At most this many ms in all, requests wait for others to leave the window. Default: 0. */
  readonly budgetPatienceMs?: number;
  /** Called when a request waits until then (epoch ms) for another one to leave the window. */
  readonly onSpent?: (until: number) => void;
}

/** Fills the throttle's reservoir with the rest of the day's budget, and waits while the budget is spent. */
export class Reservoir {
  readonly #options: ReservoirOptions;
  readonly #throttle: Throttle;
  /** The reservoir is filled again at this time (monotonic ms), or when it is empty. */
  #fillAt = 0;
  #waitedMs = 0;
  /** The end of the wait that was reported last, epoch ms. */
  #reported = 0;

  constructor(options: ReservoirOptions, throttle: Throttle) {
    this.#options = options;
    this.#throttle = throttle;
  }

  /** Lets the ledger fill the reservoir before the next request: the ledger has changed. */
  expire(): void {
    this.#fillAt = 0;
  }

  /**
   * Fills the reservoir from the ledger at the first request, when it is empty, and when requests have left
   * the window. Work whose `cap` is less than the day's budget leaves the reserve in it.
   * @param readNow reads the ledger's time, epoch ms
   * @returns in how many ms a request may leave; null if one may leave now
   */
  async spentForMs(cap: number, readNow: () => Promise<number>): Promise<number | null> {
    const { ledger, clock, budget } = this.#options;
    const reserve = budget.perDay - cap;
    const inReservoir = await this.#throttle.remaining();
    if (inReservoir !== null && inReservoir > reserve && clock.monotonic() < this.#fillAt) return null;
    const { left, freesInMs } = await ledger.budgetLeft(cap, await readNow());
    this.#throttle.fill(left + reserve);
    this.#fillAt = clock.monotonic() + Math.min(Math.max(freesInMs, FILL_MS.least), FILL_MS.most);
    return left > 0 ? null : freesInMs;
  }

  /**
   * Waits until a request has left the window, or for a minute, if the patience lasts until then.
   * @param waitMs until a request leaves the window; `now`: epoch ms
   * @throws MirrorError `BUDGET_SPENT`, or the signal's reason
   */
  async waitOrThrow(cap: number, waitMs: number, now: number, signal?: AbortSignal): Promise<void> {
    const { clock, budget, budgetPatienceMs = 0, onSpent } = this.#options;
    const isLowered = budget.lowered != null || budget.isUsedUp === true;
    const isShort = waitMs <= SHORT_WAIT_MS;
    const leftMs = budgetPatienceMs - this.#waitedMs;
    if (isLowered || budgetPatienceMs === 0 || (!isShort && waitMs > leftMs))
      throw this.#budgetSpent(cap, waitMs, now);
    const until = now + waitMs;
    if (waitMs >= WORTH_WORDS_MS && until >= this.#reported + WORTH_WORDS_MS) {
      this.#reported = until;
      onSpent?.(until);
    }
    const lasts = Math.min(waitMs, LEDGER_POLL_MS);
    if (!isShort) this.#waitedMs += lasts;
    await clock.sleep(lasts, signal);
  }

  #budgetSpent(cap: number, waitMs: number, now: number): MirrorError {
    const { budget } = this.#options;
    // Whatever has lowered the budget can end before a request of this mirror leaves the window.
    const resumeInMs = budget.lowered == null ? waitMs : Math.min(waitMs, HOUR);
    return budgetSpent(cap, budget, new Date(now + resumeInMs), now);
  }
}
