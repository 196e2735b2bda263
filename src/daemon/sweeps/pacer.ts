import { type Budget, hourlyShare, scheduledCap } from '../../core/budget.ts';
import { type Clock, DAY, HOUR, MINUTE } from '../../core/clock.ts';
import type { Writer } from '../../mirror/mirror.ts';
import type { CallOptions, Client } from '../../sync/deps.ts';
import { meanDelay } from '../../sync/planning/pages/delay.ts';
import { PagePlan } from '../../sync/planning/pages/plan.ts';
import { Rates } from '../../sync/planning/pages/rates.ts';
import { Timeline } from '../../sync/planning/pages/timeline.ts';
import { missedUntil, mostCredit, paceOf, RECORD_EVERY_MS, supplyOf } from '../../sync/planning/pace.ts';
import {
  FLAT,
  intensityOf,
  learnActivity,
  type Profile,
  profileOf,
  requestsBetween,
  weightsAt,
} from '../../sync/planning/profile.ts';
import { clientAround } from './client-around.ts';

/** The profile is learned again after a day. */
const LEARN_EVERY_MS = DAY;

/**
 * A request of an order that has used up the budget waits at least this many ms, not just for the next place
 * in it, and at most so long: a person may lift a lowered budget.
 */
const ROOM_WAIT_MS = { least: MINUTE, most: 10 * MINUTE };

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
  readonly #queue: { readonly requests: number }[] = [];
  #profile: Profile = FLAT;
  #intensity: Profile = FLAT;
  #timeline: { readonly line: Timeline; readonly madeAt: number } | null = null;
  #learnAt = Number.NEGATIVE_INFINITY;
  /** `tokens` at the instant `at`; null until the ledger is read. Times are monotonic ms. */
  #bucket: { tokens: number; at: number; anHour: number } | null = null;
  /** Requests that scheduled work may send before the ledger is read again. */
  #left = 0;
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
   * Waits until a scheduled request may go to the gate. One of a list's first filling goes at once while more
   * than an hour's share of the budget is left. It takes a token if there is one: while lists are filled
   * faster than the pace, nothing is missed.
   * @param requests waits for as many tokens, while later requests wait too
   * @throws the signal's reason
   */
  async take(first: boolean, signal: AbortSignal, requests = 1): Promise<void> {
    const { budget, clock } = this.#deps;
    const ticket = { requests };
    this.#queue.push(ticket);
    try {
      for (;;) {
        signal.throwIfAborted();
        await this.#readLedger();
        if (first && this.#left > hourlyShare(budget)) break;
        const before = this.#queue.slice(0, this.#queue.indexOf(ticket) + 1);
        const waitMs = this.#waitFor(before.reduce((sum, one) => sum + one.requests, 0));
        if (waitMs <= 0) break;
        await clock.sleep(waitMs, signal);
      }
      this.#spend(requests);
    } finally {
      this.#queue.splice(this.#queue.indexOf(ticket), 1);
    }
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

  /** Puts tokens back that {@link take} has given, because no request could use them. */
  giveBack(requests: number): void {
    const bucket = this.#accrue();
    if (bucket !== null) bucket.tokens = Math.min(this.#most(bucket.anHour), bucket.tokens + requests);
    this.#left += requests;
  }

  /** Milliseconds until the bucket holds `tokens`, or until the ledger is read again. */
  #waitFor(tokens: number): number {
    const untilRead = Math.max(1, this.#readAt + this.#readEveryMs() - this.#deps.clock.monotonic());
    const bucket = this.#accrue();
    if (bucket === null || this.#left < tokens) return untilRead;
    if (bucket.tokens >= tokens) return 0;
    return Math.min(untilRead, Math.ceil(((tokens - bucket.tokens) * HOUR) / bucket.anHour));
  }

  #spend(requests: number): void {
    const bucket = this.#accrue();
    if (bucket !== null) bucket.tokens = Math.max(0, bucket.tokens - requests);
    this.#left -= requests;
  }

  /** The bucket holds an hour's worth, or more while a walk waits for more. */
  #most(anHour: number): number {
    return Math.max(mostCredit(anHour), ...this.#queue.map(({ requests }) => requests));
  }

  #accrue() {
    const bucket = this.#bucket;
    if (bucket === null) return null;
    const at = this.#deps.clock.monotonic();
    bucket.tokens = Math.min(
      this.#most(bucket.anHour),
      bucket.tokens + ((at - bucket.at) * bucket.anHour) / HOUR,
    );
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
    const walks = this.#queue.filter(({ requests }) => requests > 1);
    const awaited = walks.reduce((sum, { requests }) => sum + requests, 0);
    await mirror.saveCredit({ requests: tokens - awaited, at: now, anHour });
    this.#bucket = { tokens: Math.min(tokens, this.#most(anHour)), at, anHour };
    this.#left = supply.left;
    this.#readAt = at;
  }

  /** The tokens after a start: restarts gain nothing, because the requests since the record count. */
  async #missed(anHour: number, now: number): Promise<number> {
    const { mirror } = this.#deps;
    const credit = await mirror.credit();
    return credit === null ? 0 : Math.max(0, await missedUntil(credit, mirror.budget, anHour, now));
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

/** A client whose every request waits for `take` before it goes to the gate. */
export function pacedClient(client: Client, take: (options: CallOptions) => Promise<void>): Client {
  return clientAround(client, async (send, options) => {
    await take(options);
    return await send();
  });
}
