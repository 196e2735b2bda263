import { DAY } from '../../core/clock.ts';
import { instantOf, offsetsBetween } from './offsets.ts';

/** A day of a time zone, as instants: from `startsAt` to before `endsAt`, epoch ms. */
export interface Day {
  /** `2026-03-29` */
  readonly day: string;
  readonly startsAt: number;
  readonly endsAt: number;
}

/**
 * The days of a time zone, from the one that holds `from` to the one that holds `to` (epoch ms). A day on
 * which the zone's clocks are set has 23 or 25 hours.
 */
export function daysBetween(timezone: string, from: number, to: number): Day[] {
  // No zone is more than 15 hours from UTC, and one left out a whole day.
  const offsets = offsetsBetween(timezone, from - 3 * DAY, to + 3 * DAY);
  const days: Day[] = [];
  let day = Math.floor(from / DAY) * DAY - DAY;
  let startsAt = instantOf(offsets, day) ?? from;
  while (startsAt <= to) {
    const endsAt = instantOf(offsets, day + DAY) ?? to;
    // A day that the zone left out (Samoa, 30 December 2011) ends where it starts, and is skipped.
    if (endsAt > startsAt && endsAt > from)
      days.push({ day: new Date(day).toISOString().slice(0, 10), startsAt, endsAt });
    startsAt = endsAt;
    day += DAY;
  }
  return days;
}
