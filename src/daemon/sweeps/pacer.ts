import { hourlyShare } from '../../core/budget.ts';
import { HOUR } from '../../core/clock.ts';
import type { Writer } from '../../mirror/mirror.ts';
import { mostInStreak } from '../../sync/pages/streak.ts';
import {
  missedUntil,
  mostCredit,
  paceOf,
  RECORD_EVERY_MS,
  sentByOrders,
  supplyOf,
} from '../../sync/planning/pace.ts';
import { BusyHours, type BusyHoursDeps } from './busy-hours.ts';
import { Purse, Savings } from './savings.ts';

export interface PacerDeps extends BusyHoursDeps {
  readonly mirror: BusyHoursDeps['mirror'] & Pick<Writer, 'budget' | 'credit' | 'saveCredit'>;
  /** The ledger is read at most once in this many ms; default `RECORD_EVERY_MS`. */
  readonly readEveryMs?: number;
}

/**
 * Spreads the requests of scheduled sweeps over the day. Credits accrue at the pace
 * (`sync/planning/pace.ts`), at most an hour's worth, so that an hour without requests is made up at once and
 * a longer one over the day. The mirror keeps them over a restart. A new mirror has none, because nothing was
 * missed.
 */
export class Pacer {
  readonly hours: BusyHours;
  readonly #deps: PacerDeps;
  /** The requests that wait for a credit, in order. */
  readonly #queue: symbol[] = [];
  readonly #savings = new Savings();
  /** The credits at the instant `at`, in monotonic ms. None accrue before the ledger is read. */
  readonly #bucket: { credits: number; at: number; anHour: number };
  /** Requests that scheduled work may send before the ledger is read again. */
  #left = 0;
  /** The requests that walks have saved up for, and have not sent yet. */
  readonly #purses = new Set<Purse>();
  #isRestored = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(deps: PacerDeps) {
    this.#deps = deps;
    this.hours = new BusyHours(deps);
    this.#bucket = { credits: 0, at: deps.clock.monotonic(), anHour: 0 };
  }

  /**
   * Waits until a scheduled request may go to the gate. An `isFree` one goes at once while more than an
   * hour's share of the budget is left. It takes a credit if there is one: while lists are filled faster than
   * the pace, nothing is missed.
   * @throws the signal's reason
   */
  async take(isFree: boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const ticket = Symbol('request');
    this.#queue.push(ticket);
    try {
      for (;;) {
        signal.throwIfAborted();
        await this.#readLedger();
        const waitMs = this.#waitFor(this.#queue.indexOf(ticket) + 1, isFree);
        if (waitMs <= 0) break;
        await clock.sleep(waitMs, signal);
      }
      this.#spend();
    } finally {
      this.#queue.splice(this.#queue.indexOf(ticket), 1);
    }
  }

  /** Takes a request that must not wait. @returns false if it would have to */
  async takeAtOnce(): Promise<boolean> {
    await this.#readLedger();
    const hasRoom = this.#waitFor(this.#queue.length + 1, true) <= 0;
    if (hasRoom) this.#spend();
    return hasRoom;
  }

  /**
   * Takes a credit before it has accrued: the next requests wait for it. Waits only if the budget is used up.
   * @throws the signal's reason
   */
  async takeAhead(signal: AbortSignal): Promise<void> {
    await this.#readLedger();
    if (this.#left < 1) return await this.take(false, signal);
    this.#accrue();
    this.#bucket.credits -= 1;
    this.#left -= 1;
  }

  /**
   * Waits until a walk may send requests in a row, {@link mostInStreak} at most. It saves up a share of the
   * credits that accrue, and those that the bucket cannot hold.
   * @param list the walk's list, which finds again what it had saved when it was interrupted
   * @param requests how many; it may become fewer
   * @throws the signal's reason
   */
  async saveUp(list: string, requests: () => number, signal: AbortSignal): Promise<Purse> {
    const { budget, clock } = this.#deps;
    await this.#readLedger();
    const saver = this.#savings.begin(list);
    saver.credits += this.#takeSurplus();
    try {
      for (;;) {
        signal.throwIfAborted();
        await this.#readLedger();
        const wanted = Math.min(requests(), mostInStreak(budget));
        this.#accrue();
        const waitMs = this.#waitUntil(wanted, saver.credits, this.#savings.shareOf(saver));
        if (waitMs <= 0) {
          saver.credits -= wanted;
          return await this.#purseOf(list, wanted);
        }
        await clock.sleep(waitMs, signal);
      }
    } finally {
      this.#savings.end(saver, clock.monotonic());
    }
  }

  /** The requests that an interrupted walk had saved and not sent; null if none are left. */
  async resume(list: string): Promise<Purse | null> {
    await this.#readLedger();
    const saver = this.#savings.begin(list);
    const requests = Math.floor(saver.credits);
    saver.credits -= requests;
    this.#savings.end(saver, this.#deps.clock.monotonic());
    return requests === 0 ? null : await this.#purseOf(list, requests);
  }

  /** Puts credits back that no request could use. They may be more than an hour's worth. */
  giveBack(requests: number): void {
    this.#accrue();
    this.#bucket.credits += requests;
    this.#left += requests;
  }

  /** The record lacks them before the first one is sent: a daemon that was killed cannot find them. */
  async #purseOf(list: string, requests: number): Promise<Purse> {
    const purse = new Purse(requests, (credits, isDone) => {
      this.#purses.delete(purse);
      if (isDone) return this.giveBack(credits);
      this.#left += credits;
      this.#savings.keep({ list, credits }, this.#deps.clock.monotonic());
    });
    this.#purses.add(purse);
    this.#left -= requests;
    try {
      await this.#record();
    } catch (error) {
      purse.close(false);
      throw error;
    }
    return purse;
  }

  /** Milliseconds until the bucket holds `credits`, or until the ledger is read again. See {@link take}. */
  #waitFor(credits: number, isFree: boolean): number {
    if (isFree && this.#left > hourlyShare(this.#deps.budget)) return 0;
    this.#accrue();
    return this.#waitUntil(credits, this.#bucket.credits, this.#savings.othersShare());
  }

  /** Milliseconds until `wanted` credits are there at this share of the pace, or the ledger is read again. */
  #waitUntil(wanted: number, credits: number, share: number): number {
    const untilRead = Math.max(1, this.#readAt + this.#readEveryMs() - this.#deps.clock.monotonic());
    if (this.#left < wanted) return untilRead;
    if (credits >= wanted) return 0;
    return Math.min(untilRead, Math.ceil(((wanted - credits) * HOUR) / (share * this.#bucket.anHour)));
  }

  /** Takes what the bucket holds beyond an hour's worth: a walk has given it back. */
  #takeSurplus(): number {
    this.#accrue();
    const surplus = Math.max(0, this.#bucket.credits - mostCredit(this.#bucket.anHour));
    this.#bucket.credits -= surplus;
    return surplus;
  }

  #spend(): void {
    this.#accrue();
    // A free request makes no debt, and repays none.
    const { credits } = this.#bucket;
    this.#bucket.credits = Math.max(Math.min(0, credits), credits - 1);
    this.#left -= 1;
  }

  #accrue(): void {
    const bucket = this.#bucket;
    const at = this.#deps.clock.monotonic();
    bucket.credits += this.#savings.takeLapsed(at);
    const accrued = ((at - bucket.at) * bucket.anHour) / HOUR;
    const most = Math.max(mostCredit(bucket.anHour), bucket.credits);
    const spendable = Math.min(most - bucket.credits, accrued * this.#savings.othersShare());
    bucket.credits += spendable;
    this.#savings.add(accrued - spendable);
    bucket.at = at;
  }

  #readEveryMs(): number {
    return this.#deps.readEveryMs ?? RECORD_EVERY_MS;
  }

  async #readLedger(): Promise<void> {
    if (this.#deps.clock.monotonic() < this.#readAt + this.#readEveryMs()) return;
    this.#reading ??= this.#read().finally(() => (this.#reading = null));
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { mirror, clock, budget } = this.#deps;
    await this.hours.learn();
    const now = clock.now();
    const window = await mirror.budget.windowByHour(now);
    this.hours.leaveToOrders(await sentByOrders(window, mirror.budget, now));
    const supply = supplyOf(window, budget);
    this.#left = [...this.#purses].reduce((left, purse) => left - purse.left, supply.left);
    const anHour = paceOf(supply, this.hours.weights());
    if (!this.#isRestored) await this.#restore(anHour, now);
    this.#accrue();
    this.#bucket.anHour = anHour;
    await this.#record();
    this.#readAt = clock.monotonic();
  }

  async #record(): Promise<void> {
    const { mirror, clock } = this.#deps;
    this.#accrue();
    await mirror.saveCredit({
      requests: this.#bucket.credits,
      at: clock.now(),
      anHour: this.#bucket.anHour * this.#savings.othersShare(),
      saved: this.#savings.byList(),
    });
  }

  /** The credits after a start: restarts gain nothing, because the requests since the record count. */
  async #restore(anHour: number, now: number): Promise<void> {
    const { mirror, clock } = this.#deps;
    const credit = await mirror.credit();
    if (credit !== null) {
      this.#bucket.credits = await missedUntil(credit, mirror.budget, anHour, now);
      this.#savings.restore(credit.saved, clock.monotonic());
    }
    this.#isRestored = true;
  }
}
