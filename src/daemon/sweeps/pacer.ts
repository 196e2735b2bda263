import { type Budget, hourlyShare, scheduledCap } from '../../core/budget.ts';
import { type Clock, DAY, HOUR, MINUTE } from '../../core/clock.ts';
import type { Writer } from '../../mirror/mirror.ts';
import { meanDelay } from '../../sync/planning/pages/delay.ts';
import { PagePlan } from '../../sync/planning/pages/plan.ts';
import { Rates } from '../../sync/planning/pages/rates.ts';
import { Timeline } from '../../sync/planning/pages/timeline.ts';
import { missedUntil, mostCredit, paceOf, RECORD_EVERY_MS, supplyOf } from '../../sync/planning/pace.ts';
import { turnOf } from '../../sync/planning/planner.ts';
import {
  FLAT,
  intensityOf,
  learnActivity,
  type Profile,
  profileOf,
  requestsBetween,
  weightsAt,
} from '../../sync/planning/profile.ts';
import { Savings } from './savings.ts';

/** The profile is learned again after a day. */
const LEARN_EVERY_MS = DAY;

/**
 * A request of an order that has used up the budget waits at least this many ms, not just for the next place
 * in it, and at most so long: a person may lift a lowered budget.
 */
const ROOM_WAIT_MS = { least: MINUTE, most: 10 * MINUTE };

/** A list of 1.25 turns or more is read at the pace: to save for one turn takes half a day. */
const MOST_IN_A_ROW = 1.25;

export interface PacerDeps {
  readonly mirror: Pick<Writer, 'activity' | 'bookmarks' | 'budget' | 'credit' | 'rates' | 'saveCredit'>;
  readonly clock: Clock;
  readonly budget: Budget;
  /** The time zone whose hours of the week the profile learns. */
  readonly timezone: string;
  /** The ledger is read at most once in this many ms; default `RECORD_EVERY_MS`. */
  readonly readEveryMs?: number;
}

/**
 * Spreads the requests of scheduled sweeps over the day. Tokens accrue at the pace (`sync/planning/pace.ts`),
 * at most an hour's worth, so that an hour without requests is made up at once and a longer one over the day.
 * The mirror keeps them over a restart. A new mirror has none, because nothing was missed.
 */
export class Pacer {
  readonly #deps: PacerDeps;
  /** The requests that wait for a token, in order. */
  readonly #queue: symbol[] = [];
  readonly #savings = new Savings();
  #profile: Profile = FLAT;
  #intensity: Profile = FLAT;
  #timeline: { readonly line: Timeline; readonly madeAt: number } | null = null;
  #learnAt = Number.NEGATIVE_INFINITY;
  /** `tokens` at the instant `at`; null until the ledger is read. Times are monotonic ms. */
  #bucket: { tokens: number; at: number; anHour: number } | null = null;
  /** Requests that scheduled work may send before the ledger is read again. */
  #left = 0;
  /** Requests that walks have saved for, and have not sent yet. */
  #prepaid = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(deps: PacerDeps) {
    this.#deps = deps;
  }

  /** The account's activity in the last weeks, as far as it was learned. */
  timeline(): Timeline {
    const now = this.#deps.clock.now();
    if (this.#timeline === null || Math.abs(now - this.#timeline.madeAt) > DAY)
      this.#timeline = { line: new Timeline(now, this.#deps.timezone, this.#intensity), madeAt: now };
    return this.#timeline.line;
  }

  /** How many requests scheduled work may send until an instant, epoch ms. */
  requestsUntil(to: number): number {
    const { budget, clock, timezone } = this.#deps;
    return requestsBetween(this.#profile, timezone, { from: clock.now(), to, aDay: scheduledCap(budget) });
  }

  /**
   * Waits until a scheduled request may go to the gate. An `isFree` one goes at once while more than an
   * hour's share of the budget is left. It takes a token if there is one: while lists are filled faster than
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
   * Waits without a token until the day's budget may have room for a request of an order.
   * @param roomAt when it has room at the latest
   * @throws the signal's reason
   */
  async waitForRoom(roomAt: Date, signal: AbortSignal | undefined): Promise<void> {
    const { least, most } = ROOM_WAIT_MS;
    const { clock } = this.#deps;
    await clock.sleep(Math.min(Math.max(roomAt.getTime() - clock.now(), least), most), signal);
  }

  /**
   * Waits until a walk may send requests in a row, {@link mostInARow} at most. It saves a share of the tokens
   * that accrue, and those that the bucket cannot hold.
   * @param list the walk's list, which finds again what it had saved when it was interrupted
   * @param requests how many; it may become fewer
   * @returns how many it may send
   * @throws the signal's reason
   */
  async save(list: string, requests: () => number, signal: AbortSignal): Promise<number> {
    const { budget, clock } = this.#deps;
    await this.#readLedger();
    const saver = this.#savings.begin(list);
    saver.tokens += this.#takeSurplus();
    try {
      for (;;) {
        signal.throwIfAborted();
        await this.#readLedger();
        const wanted = Math.min(requests(), mostInARow(budget));
        const anHour = this.#savings.shareOf(saver) * (this.#accrue()?.anHour ?? 0);
        const waitMs = this.#waitUntil(wanted, saver.tokens, anHour);
        if (waitMs <= 0) {
          saver.tokens -= wanted;
          this.#left -= wanted;
          this.#prepaid += wanted;
          return wanted;
        }
        await clock.sleep(waitMs, signal);
      }
    } finally {
      this.#savings.end(saver, clock.monotonic());
    }
  }

  /** A walk sends requests that {@link save} has given, or sends them no more. */
  endPrepaid(requests: number): void {
    this.#prepaid -= requests;
  }

  /**
   * Puts tokens back that {@link take} or {@link save} has given, because no request could use them. They may
   * be more than an hour's worth.
   */
  giveBack(requests: number): void {
    const bucket = this.#accrue();
    if (bucket !== null) bucket.tokens += requests;
    this.#left += requests;
  }

  /** Milliseconds until the bucket holds `tokens`, or until the ledger is read again. See {@link take}. */
  #waitFor(tokens: number, isFree: boolean): number {
    if (isFree && this.#left > hourlyShare(this.#deps.budget)) return 0;
    const bucket = this.#accrue();
    return this.#waitUntil(tokens, bucket?.tokens ?? 0, this.#savings.othersShare() * (bucket?.anHour ?? 0));
  }

  /** Milliseconds until `wanted` tokens are there at this pace, or the ledger is read again. */
  #waitUntil(wanted: number, tokens: number, anHour: number): number {
    const untilRead = Math.max(1, this.#readAt + this.#readEveryMs() - this.#deps.clock.monotonic());
    if (this.#left < wanted) return untilRead;
    if (tokens >= wanted) return 0;
    return Math.min(untilRead, Math.ceil(((wanted - tokens) * HOUR) / anHour));
  }

  /** Takes what the bucket holds beyond an hour's worth: a walk has given it back. */
  #takeSurplus(): number {
    const bucket = this.#accrue();
    const surplus = bucket === null ? 0 : Math.max(0, bucket.tokens - mostCredit(bucket.anHour));
    if (bucket !== null) bucket.tokens -= surplus;
    return surplus;
  }

  #spend(): void {
    const bucket = this.#accrue();
    if (bucket !== null) bucket.tokens = Math.max(0, bucket.tokens - 1);
    this.#left -= 1;
  }

  #accrue() {
    const bucket = this.#bucket;
    if (bucket === null) return null;
    const at = this.#deps.clock.monotonic();
    bucket.tokens += this.#savings.takeLapsed(at);
    const accrued = ((at - bucket.at) * bucket.anHour) / HOUR;
    const most = Math.max(mostCredit(bucket.anHour), bucket.tokens);
    const spendable = Math.min(most - bucket.tokens, accrued * this.#savings.othersShare());
    bucket.tokens += spendable;
    this.#savings.add(accrued - spendable);
    bucket.at = at;
    return bucket;
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
    const { mirror, clock, budget, timezone } = this.#deps;
    await this.#learn();
    const now = clock.now();
    const supply = supplyOf(await mirror.budget.windowByHour(now), budget);
    const anHour = paceOf(supply, weightsAt(this.#profile, timezone, now));
    const at = clock.monotonic();
    const tokens = this.#accrue()?.tokens ?? (await this.#missed(anHour, now));
    const single = anHour * this.#savings.othersShare();
    await mirror.saveCredit({ requests: tokens, at: now, anHour: single, saved: this.#savings.byList() });
    this.#bucket = { tokens, at, anHour };
    this.#left = supply.left - this.#prepaid;
    this.#readAt = at;
  }

  /** The tokens after a start: restarts gain nothing, because the requests since the record count. */
  async #missed(anHour: number, now: number): Promise<number> {
    const { mirror, clock } = this.#deps;
    const credit = await mirror.credit();
    if (credit === null) return 0;
    this.#savings.restore(credit.saved, clock.monotonic());
    return await missedUntil(credit, mirror.budget, anHour, now);
  }

  async #learn(): Promise<void> {
    const { mirror, clock, budget, timezone } = this.#deps;
    if (clock.monotonic() < this.#learnAt) return;
    const now = clock.now();
    const activity = await learnActivity(mirror, { now, timezone });
    this.#intensity = intensityOf(activity);
    this.#timeline = null;
    const plan = new PagePlan();
    plan.load(await mirror.bookmarks.all());
    const moment = { rates: new Rates(await mirror.rates()), timeline: this.timeline(), now };
    this.#profile = profileOf(activity, meanDelay(plan.all(), moment, hourlyShare(budget)) ?? 0);
    this.#learnAt = clock.monotonic() + LEARN_EVERY_MS;
  }
}

/** The most requests that a walk may save. */
export function mostInARow(budget: Budget): number {
  return Math.max(1, Math.floor(MOST_IN_A_ROW * turnOf(budget)));
}
