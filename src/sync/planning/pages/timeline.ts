import { DAY, HOUR } from '../../../core/clock.ts';
import type { Profile } from '../week/profile.ts';
import { FLAT, localTime } from '../week/week.ts';

/** Readings older than this many ms count as this old. */
const LONGEST_MS = 30 * DAY;

/**
 * The activity to expect in each hour since 30 days ago, summed up so that the activity between any two
 * instants costs two look-ups. An active hour is an hour of mean activity.
 */
export class Timeline {
  readonly #intensity: Profile;
  readonly #timezone: string;
  readonly #origin: number;
  /**
   * Before each hour since the origin: active hours, and active hours times their distance from the origin.
   */
  readonly #active: number[] = [0];
  readonly #moments: number[] = [0];
  readonly #hourly: number[] = [];

  /** @param now epoch ms */
  constructor(now: number, timezone = 'UTC', intensity: Profile = FLAT) {
    this.#intensity = intensity;
    this.#timezone = timezone;
    this.#origin = Math.floor((now - LONGEST_MS) / HOUR) * HOUR;
    this.#extend((now - this.#origin) / HOUR);
  }

  /** The active hours between two instants, epoch ms. */
  activeHours(from: number, to: number): number {
    return this.#at(to, this.#active, 0) - this.#at(from, this.#active, 0);
  }

  /**
   * How long one change a mean hour, between two instants, has waited until `now`: hours of waiting.
   * All times are epoch ms.
   */
  waitingHours(from: number, to: number, now: number): number {
    const moments = this.#at(to, this.#moments, 1) - this.#at(from, this.#moments, 1);
    return this.#hours(now) * this.activeHours(from, to) - moments;
  }

  #hours(at: number): number {
    return Math.max(0, (at - this.#origin) / HOUR);
  }

  /** The integral, up to an instant, of the intensity times the `power` of the distance from the origin. */
  #at(instant: number, sums: readonly number[], power: 0 | 1): number {
    const hours = this.#hours(instant);
    this.#extend(hours);
    const hour = Math.floor(hours);
    const rate = this.#hourly[hour] ?? 1;
    const rest = power === 0 ? hours - hour : (hours ** 2 - hour ** 2) / 2;
    return (sums[hour] ?? 0) + rate * rest;
  }

  #extend(hours: number): void {
    if (hours < this.#hourly.length) return;
    const local = localTime(this.#timezone);
    for (let hour = this.#hourly.length; hour <= hours + 24; hour += 1) {
      const rate = this.#intensity[local(this.#origin + (hour + 0.5) * HOUR).hourOfWeek] ?? 1;
      this.#hourly.push(rate);
      this.#active.push((this.#active[hour] ?? 0) + rate);
      this.#moments.push((this.#moments[hour] ?? 0) + rate * (hour + 0.5));
    }
  }
}
