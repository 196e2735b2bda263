import { DAY, MINUTE, SECOND } from '../../core/clock.ts';
import { instantOf, type Offset } from './offsets.ts';

/** From minute to before minute of a local day, 0 to 1440. */
export type OfficeSpan = readonly [from: number, to: number];

/** When people work. */
export interface OfficeHours {
  readonly timezone: string;
  /** The spans of each weekday in order, Monday first. */
  readonly week: readonly (readonly OfficeSpan[])[];
}

/** A span of one day (epoch ms). The seconds count the office hours from the first span to its ends. */
export interface OfficeInterval {
  readonly startsAt: number;
  readonly endsAt: number;
  readonly beforeSeconds: number;
  readonly afterSeconds: number;
}

/**
 * The office hours within the offsets of their time zone. A local time that occurs twice counts as its first
 * occurrence, so office hours across a clock change are an hour shorter or longer.
 */
export function officeIntervals({ week }: OfficeHours, offsets: readonly Offset[]): OfficeInterval[] {
  const [first, last] = [offsets[0], offsets.at(-1)];
  if (first === undefined || last === undefined) return [];
  const intervals: OfficeInterval[] = [];
  let seconds = 0;
  const firstDay = Math.floor((first.startsAt + first.offsetMs) / DAY);
  const lastDay = Math.floor((last.endsAt + last.offsetMs) / DAY);
  for (let day = firstDay; day <= lastDay; day++)
    // 1 January 1970 was a Thursday.
    for (const [from, to] of week[(day + 3) % 7] ?? []) {
      const startsAt = instantOf(offsets, day * DAY + from * MINUTE);
      const endsAt = instantOf(offsets, day * DAY + to * MINUTE) ?? last.endsAt;
      if (startsAt === null || endsAt <= startsAt) continue;
      const afterSeconds = seconds + (endsAt - startsAt) / SECOND;
      intervals.push({ startsAt, endsAt, beforeSeconds: seconds, afterSeconds });
      seconds = afterSeconds;
    }
  return intervals;
}
