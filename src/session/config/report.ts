import {
  CLOSED_WORDS,
  FINAL_STATUSES,
  inSmallLetters,
  type StatusMeanings,
  WAITING_STATUSES,
} from '../../core/lists.ts';
import type { OfficeHours, OfficeSpan } from '../../mirror/settings/office.ts';
import type { Read } from './environment.ts';
import { readTimezone } from './parsers.ts';

/** The settings that the views need. */
export interface Report {
  /** The time zone in which days begin and end. */
  readonly reportTimezone: string;
  readonly statuses: StatusMeanings;
  /** Null if no office hours are set. */
  readonly officeHours: OfficeHours | null;
}

export function readReport(read: Read, faults: string[]): Report {
  const reportTimezone = readTimezone(read, 'REPORT_TIMEZONE', 'UTC');
  return {
    reportTimezone,
    statuses: readStatuses(read, faults),
    officeHours: readOfficeHours(read, reportTimezone),
  };
}

/** Which statuses are final, and which wait for an answer from outside, in small letters. */
function readStatuses(read: Read, faults: string[]): StatusMeanings {
  const of = (name: string, fallback: readonly string[]): readonly string[] =>
    read(name, fallback, 'statuses with commas between them, such as closed,resolved', (text) => {
      const words = text.split(',').map((word) => inSmallLetters(word.trim()));
      // The views report both of the service's words for closed as one status.
      const all = words.some((word) => CLOSED_WORDS.includes(word)) ? [...words, ...CLOSED_WORDS] : words;
      return words.every((word) => word !== '') ? [...new Set(all)].sort() : undefined;
    });
  const final = of('FINAL_STATUSES', FINAL_STATUSES);
  const waiting = of('WAITING_STATUSES', WAITING_STATUSES);
  const both = waiting.filter((word) => final.includes(word));
  if (both.length > 0)
    faults.push(
      `WAITING_STATUSES: expected other statuses than FINAL_STATUSES, but both have ${both.join(', ')}`,
    );
  return { final, waiting };
}

const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/** The office hours in OFFICE_TIMEZONE; null if none are set. @param timezone the zone if none is set */
function readOfficeHours(read: Read, timezone: string): OfficeHours | null {
  const zone = readTimezone(read, 'OFFICE_TIMEZONE', timezone);
  return read<OfficeHours | null>(
    'OFFICE_HOURS',
    null,
    'weekdays with times from 00:00 to 24:00, such as "Mon-Fri 09:00-17:00" or ' +
      '"Mon-Thu 08:30-12:30 13:30-17:00, Fri 08:30-14:00", each weekday once',
    (text) => {
      const week = readWeek(text);
      return week === null ? undefined : { timezone: zone, week };
    },
  );
}

/** The spans of each weekday; null if the text does not have the form or names a weekday twice. */
function readWeek(text: string): OfficeSpan[][] | null {
  const week: OfficeSpan[][] = WEEKDAYS.map(() => []);
  for (const part of text.split(',')) {
    const [days = '', ...times] = part.trim().split(/\s+/);
    const [first, last] = days.split('-').map((name) => WEEKDAYS.indexOf(name.toLowerCase()));
    const spans = times.map(readSpan);
    const isOrdered = spans.every((span, nth) => span !== null && span[0] >= (spans[nth - 1]?.[1] ?? 0));
    if (first === undefined || first < 0 || last === -1 || spans.length === 0 || !isOrdered) return null;
    const until = last ?? first;
    if (until < first || days.split('-').length > 2) return null;
    for (let day = first; day <= until; day++) {
      if (week[day]!.length > 0) return null;
      week[day] = spans.filter((span) => span !== null);
    }
  }
  return week;
}

/** Such as `09:00-17:30`, in minutes of the day. */
function readSpan(text: string): OfficeSpan | null {
  const parts = /^([01]?\d|2[0-4]):([0-5]\d)-([01]?\d|2[0-4]):([0-5]\d)$/.exec(text);
  if (parts === null) return null;
  const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = parts.slice(1).map(Number);
  const [from, to] = [fromHour * 60 + fromMinute, toHour * 60 + toMinute];
  return from < to && to <= 24 * 60 ? [from, to] : null;
}
