import { DAY, HOUR } from '../../core/clock.ts';

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
  const dayOf = calendar(timezone);
  const days: Day[] = [];
  const last = dayOf(to);
  let day = dayOf(from);
  let startsAt = startOf(dayOf, day);
  while (day <= last) {
    const next = nextDay(day);
    const endsAt = startOf(dayOf, next);
    // A day that the zone left out (Samoa, 30 December 2011) ends where it starts, and is skipped.
    if (endsAt > startsAt) days.push({ day, startsAt, endsAt });
    startsAt = endsAt;
    day = next;
  }
  return days;
}

type Calendar = (instant: number) => string;

function calendar(timezone: string): Calendar {
  // Canadian English writes a date as ISO 8601 does.
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  return (instant) => format.format(instant);
}

function nextDay(day: string): string {
  return new Date(Date.parse(day) + DAY).toISOString().slice(0, 10);
}

/** The first instant of `day` or a later day, epoch ms. No zone is more than 15 hours from UTC. */
function startOf(dayOf: Calendar, day: string): number {
  let before = Date.parse(day) - 15 * HOUR;
  let since = Date.parse(day) + 15 * HOUR;
  // In nearly every zone a day begins at a full quarter of an hour. The second step finds the other instants.
  for (const step of [HOUR / 4, 1]) {
    while (since - before > step) {
      const middle = before + Math.ceil((since - before) / 2 / step) * step;
      if (middle >= since) break;
      if (dayOf(middle) >= day) since = middle;
      else before = middle;
    }
    if (dayOf(since - 1) < day) return since;
  }
  return since;
}
