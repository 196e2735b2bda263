import { HOUR, MINUTE } from '../../../core/clock.ts';

/** A number for each of the 168 hours of the local week, Monday 0:00 first. */
export type Week = readonly number[];

export const HOURS_A_DAY = 24;
export const HOURS_A_WEEK = 7 * HOURS_A_DAY;

/** A week whose hours are all alike. */
export const FLAT: Week = Array.from({ length: HOURS_A_WEEK }, () => 1);

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** The offsets of today's time zones are multiples of this many ms. */
const QUARTER_MS = 15 * MINUTE;

/** At most this many quarters of an hour are remembered: some 40 days. */
const MOST_QUARTERS = 4000;

interface LocalQuarter {
  readonly hourOfWeek: number;
  /** The minute of its hour in which it begins. */
  readonly minute: number;
}

/** For each time zone, the quarters of an hour that were read: a formatter is slow. */
const ZONES = new Map<string, (quarter: number) => LocalQuarter>();

/** Reads the local clock: the hour of the week, 0 to 167, and the part of it that is past, 0 to 1. */
export function localTime(timezone: string): (at: number) => { hourOfWeek: number; past: number } {
  const quarterOf = ZONES.get(timezone) ?? quartersOf(timezone);
  ZONES.set(timezone, quarterOf);
  return (at) => {
    const quarter = Math.floor(at / QUARTER_MS);
    const { hourOfWeek, minute } = quarterOf(quarter);
    return { hourOfWeek, past: (minute * MINUTE + at - quarter * QUARTER_MS) / HOUR };
  };
}

function quartersOf(timezone: string): (quarter: number) => LocalQuarter {
  const format = formatOf(timezone);
  const known = new Map<number, LocalQuarter>();
  const read = (quarter: number): LocalQuarter => {
    const parts = Object.fromEntries(
      format.formatToParts(quarter * QUARTER_MS).map(({ type, value }) => [type, value]),
    );
    const weekday = WEEKDAYS.indexOf(parts['weekday'] ?? '');
    return { hourOfWeek: weekday * HOURS_A_DAY + Number(parts['hour']), minute: Number(parts['minute']) };
  };
  return (quarter) => {
    const found = known.get(quarter) ?? read(quarter);
    if (known.size >= MOST_QUARTERS) known.clear();
    known.set(quarter, found);
    return found;
  };
}

function formatOf(timezone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
}
