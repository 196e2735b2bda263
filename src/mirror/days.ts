const HOUR_MS = 3_600_000;

/** A day of a time zone, as instants: from `startsAt` to before `endsAt`, epoch ms. */
export interface Day {
  /** `2026-03-29` */
  readonly day: string;
  readonly startsAt: number;
  readonly endsAt: number;
}

/** The days of a time zone from the one that holds `from` to the one that holds `to` (epoch ms); 23 or 25 hours long where its clocks are set. */
export function daysBetween(timezone: string, from: number, to: number): Day[] {
  const dayOf = calendar(timezone);
  const days: Day[] = [];
  const last = dayOf(to);
  let day = dayOf(from);
  let startsAt = startOf(dayOf, day);
  while (day <= last) {
    // A day that a zone left out (Samoa, 30 December 2011) is none: what follows is what the clock says 12 hours after the next start.
    const endsAt = startOf(dayOf, after(day));
    if (endsAt > startsAt) days.push({ day, startsAt, endsAt });
    startsAt = endsAt;
    day = after(day);
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

function after(day: string): string {
  return new Date(Date.parse(day) + 24 * HOUR_MS).toISOString().slice(0, 10);
}

/** The first instant at which the calendar shows `day` or a later one, to the millisecond; no zone is further than 15 hours from UTC. */
function startOf(dayOf: Calendar, day: string): number {
  let before = Date.parse(day) - 15 * HOUR_MS;
  let since = Date.parse(day) + 15 * HOUR_MS;
  // Nearly every zone's days begin at a full quarter of an hour.
  for (const step of [HOUR_MS / 4, 1]) {
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
