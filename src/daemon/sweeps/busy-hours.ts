import { type Budget, hourlyShare } from '../../core/budget.ts';
import { type Clock, DAY } from '../../core/clock.ts';
import type { Writer } from '../../mirror/mirror.ts';
import { besideOrders, type Weights } from '../../sync/planning/pace.ts';
import { meanDelay } from '../../sync/planning/pages/delay.ts';
import { PagePlan } from '../../sync/planning/pages/plan.ts';
import { Rates } from '../../sync/planning/pages/rates.ts';
import { Timeline } from '../../sync/planning/pages/timeline.ts';
import { intensityOf, learnActivity } from '../../sync/planning/week/activity.ts';
import { type Profile, profileOf, requestsBetween, weightsAt } from '../../sync/planning/week/profile.ts';
import { FLAT } from '../../sync/planning/week/week.ts';

/** The activity is learned again after a day. */
const LEARN_EVERY_MS = DAY;

export interface BusyHoursDeps {
  readonly mirror: Pick<Writer, 'activity' | 'bookmarks' | 'rates'>;
  readonly clock: Clock;
  readonly budget: Budget;
  /** The time zone whose hours of the week are learned. */
  readonly timezone: string;
}

/** The hours of the week in which the account's conversations change more, and what each hour may cost. */
export class BusyHours {
  readonly #deps: BusyHoursDeps;
  #profile: Profile = FLAT;
  #intensity: Profile = FLAT;
  #timeline: { readonly line: Timeline; readonly madeAt: number } | null = null;
  /** See {@link leaveToOrders}. */
  #ordered = 0;
  /** Monotonic ms. */
  #learnAt = Number.NEGATIVE_INFINITY;

  constructor(deps: BusyHoursDeps) {
    this.#deps = deps;
  }

  /** The account's activity in the last weeks, as far as it was learned. */
  timeline(): Timeline {
    const now = this.#deps.clock.now();
    if (this.#timeline === null || Math.abs(now - this.#timeline.madeAt) > DAY)
      this.#timeline = { line: new Timeline(now, this.#deps.timezone, this.#intensity), madeAt: now };
    return this.#timeline.line;
  }

  /** How much of the day's budget belongs to each hour. */
  weights(): Weights {
    return weightsAt(this.#profile, this.#deps.timezone, this.#deps.clock.now());
  }

  /** Orders take this many requests a day. */
  leaveToOrders(requests: number): void {
    this.#ordered = requests;
  }

  /** How many requests scheduled work may send until an instant, epoch ms. */
  requestsUntil(to: number): number {
    const { budget, clock, timezone } = this.#deps;
    const aDay = besideOrders(budget, this.#ordered);
    return requestsBetween(this.#profile, timezone, { from: clock.now(), to, aDay });
  }

  /** Learns the activity of the last weeks, once a day. */
  async learn(): Promise<void> {
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
