import { DAY, HOUR, MINUTE } from '../../core/clock.ts';
import type { ActivitySpan } from '../../mirror/history/activity.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import type { Weights } from './pace.ts';

/** The weight of each of the 168 hours of the week, Monday 0:00 first. Its mean over any day is about 1. */
export type Profile = readonly number[];

const HOURS_A_DAY = 24;
const HOURS_A_WEEK = 7 * HOURS_A_DAY;

/**
 * Each hour of the day counts 1 change more than was seen in it, and as much more time as a change takes at
 * the mean rate (a Gamma prior). An hour that was never watched is then a usual one, few changes say little,
 * and the profile begins flat.
 */
const PRIOR_CHANGES = 1;

/**
 * No hour gets less than a tenth of the mean request rate: what happens at night is seen before the morning.
 * The weights of a day add up to slightly more than 24, so this is slightly more than a tenth.
 */
const LEAST_WEIGHT = 0.12;

/**
 * No hour gets more than 2.8 times the mean request rate. The rest up to three times is for missed requests,
 * which the daemon makes up.
 */
const MOST_WEIGHT = 2.8;

/** A change whose two sightings lie 24 hours or more apart says nothing about its hour. */
const WIDEST_SPAN = HOURS_A_DAY;

/**
 * After the even division, the changes are divided among the hours this many times more: each time in
 * proportion to the activity that the division before has shown.
 */
const REFINEMENTS = 3;

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** The profile before anything is learned. */
export const FLAT: Profile = Array.from({ length: HOURS_A_WEEK }, () => 1);

/** For each hour of the week, its changes and how many times the hour has passed since the first change. */
export interface Activity {
  readonly changes: readonly number[];
  readonly times: readonly number[];
}

/** The requests follow the activity by this many times the mean delay of a change. */
const LAG = 2;

/** They follow it by at most this many hours. */
const MOST_LAG = 1;

/** Beyond this mean delay in hours, requests move to the end of the busy time. */
const LATE_DELAY = 0.6;

/** The weight that each further hour of delay moves to the end of the busy time, and the most of it. */
const LATE = { each: 0.4, most: 1 } as const;

/** The end of the busy time is found by the activity of this many hours before and after. */
const LATE_HOURS = 8;

/** The limits of a weight are applied this many times, because each time changes the mean around an hour. */
const ROUNDS = 8;

/**
 * The profile for an account: the square root of its activity, divided by the mean of the 24 hours around,
 * because the budget cannot move from one day to another. Where changes wait longer, the requests follow the
 * activity later: those of a day's last hours must not wait until the morning. Where they wait for hours,
 * most pages are read once a day, and a reading at the end of the busy time ends the most waiting.
 * @param delay hours that a change waits on average, see `pages/delay.ts`
 */
export function profileOf(activity: Activity, delay: number): Profile {
  const expected = smoothed(activity);
  const roots = lagged(expected, Math.min(MOST_LAG, LAG * delay)).map(Math.sqrt);
  const late = Math.min(LATE.most, LATE.each * Math.max(0, delay - LATE_DELAY));
  let weights = roots.map(
    (root, hour) => root / meanAround(roots, hour) + late * endOfBusyTime(expected, hour) ** 2,
  );
  for (let round = 0; round < ROUNDS; round += 1)
    weights = weights.map((weight, hour) =>
      Math.min(MOST_WEIGHT, Math.max(LEAST_WEIGHT, weight / meanAround(weights, hour))),
    );
  return weights;
}

/** The mean of the 24 hours around an hour of the week. */
function meanAround(hours: readonly number[], hour: number): number {
  let sum = 0;
  for (let near = hour - HOURS_A_DAY / 2; near < hour + HOURS_A_DAY / 2; near += 1)
    sum += inWeek(hours, near);
  return sum / HOURS_A_DAY;
}

/** How much more happens before an hour than after it, as a multiple of the mean hour; at least 0. */
function endOfBusyTime(activity: readonly number[], hour: number): number {
  let difference = 0;
  for (let distance = 1; distance <= LATE_HOURS; distance += 1)
    difference += inWeek(activity, hour - distance) - inWeek(activity, hour + distance);
  return Math.max(0, difference) / (LATE_HOURS * meanAround(activity, hour));
}

/** The value of an hour. The week is a circle. */
function inWeek(week: readonly number[], hour: number): number {
  return week[(hour + HOURS_A_WEEK) % HOURS_A_WEEK] ?? 0;
}

/** Each hour of the week as a mean of itself and those before it, which count less by e each `lag` hours. */
function lagged(hours: readonly number[], lag: number): number[] {
  const kept = Math.exp(-1 / lag);
  let mean = 0;
  // The week is a circle: the second round begins with the end of the first.
  const rounds = [...hours, ...hours].map((hour) => (mean = kept * mean + (1 - kept) * hour));
  return rounds.slice(hours.length);
}

/** No hour has less than this share of the mean activity. */
const LEAST_INTENSITY = 0.02;

/** The account's activity in each hour of the week, as a multiple of the mean hour: 168 numbers. */
export function intensityOf(activity: Activity): Profile {
  const expected = smoothed(activity);
  const mean = expected.reduce((sum, changes) => sum + changes, 0) / HOURS_A_WEEK;
  return expected.map((changes) => Math.max(LEAST_INTENSITY, changes / mean));
}

/**
 * The changes to expect in each hour of the week. Each hour counts as if it had passed once more, with the
 * usual changes of that hour on all days.
 */
function smoothed({ changes, times }: Activity): number[] {
  const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
  // One change in one hour more than was seen: without any change the mean would be 0.
  const mean = (total(changes) + 1) / (total(times) + 1);
  const ofDay = Array.from({ length: HOURS_A_DAY }, (_, hour) => {
    const sameHour = (values: readonly number[]): number =>
      total(values.filter((_value, index) => index % HOURS_A_DAY === hour));
    return (sameHour(changes) + PRIOR_CHANGES) / (sameHour(times) + PRIOR_CHANGES / mean);
  });
  return changes.map((seen, hour) => (seen + (ofDay[hour % HOURS_A_DAY] ?? 0)) / ((times[hour] ?? 0) + 1));
}

/**
 * The activity in each hour of the local week. A change happened between two sightings. It counts evenly for
 * the hours between them at first: otherwise an hour in which the daemon reads much would look busy. Then
 * it counts more for those of these hours in which other changes fall, so that a long gap between two
 * readings does not make the night look busy (the method of Richardson and Lucy).
 * @param since the instant from which the spans count their hours, epoch ms
 */
export function activityOf(
  spans: readonly ActivitySpan[],
  { since, now, timezone }: { since: number; now: number; timezone: string },
): Activity {
  const local = localTime(timezone);
  const end = Math.floor((now - since) / HOUR);
  const hoursOfWeek = Array.from(
    { length: end + 1 },
    (_, hour) => local(since + (hour + 0.5) * HOUR).hourOfWeek,
  );
  const narrow = spans.filter(({ first, last }) => last - first < WIDEST_SPAN);
  let activity = spread(narrow, FLAT, hoursOfWeek);
  for (let round = 0; round < REFINEMENTS; round += 1)
    activity = spread(narrow, intensityOf(activity), hoursOfWeek);
  return activity;
}

/** The activity is learned from the changes of the last four weeks. */
const LEARN_FROM_MS = 28 * DAY;

/** Reads the activity of the last four weeks. */
export async function learnActivity(
  mirror: Pick<Mirror, 'activity'>,
  { now, timezone }: { now: number; timezone: string },
): Promise<Activity> {
  const since = now - LEARN_FROM_MS;
  return activityOf(await mirror.activity(since), { since, now, timezone });
}

/** Divides the changes of each span among its hours, in proportion to the intensity of each. */
function spread(
  spans: readonly ActivitySpan[],
  intensity: Profile,
  hoursOfWeek: readonly number[],
): Activity {
  const byHour = new Map<number, number>();
  const weightOf = (hour: number): number => intensity[hoursOfWeek[hour] ?? 0] ?? 1;
  for (const { first, last, changes } of spans) {
    let sum = 0;
    for (let hour = Math.max(0, first); hour <= last; hour += 1) sum += weightOf(hour);
    for (let hour = Math.max(0, first); hour <= last; hour += 1)
      byHour.set(hour, (byHour.get(hour) ?? 0) + (changes * weightOf(hour)) / sum);
  }
  const activity = { changes: emptyWeek(), times: emptyWeek() };
  // The hours before the first change may be older than the mirror, and the present hour is not over.
  const end = hoursOfWeek.length - 1;
  for (let hour = Math.min(end, ...byHour.keys()); hour < end; hour += 1) {
    const hourOfWeek = hoursOfWeek[hour]!;
    activity.changes[hourOfWeek]! += byHour.get(hour) ?? 0;
    activity.times[hourOfWeek]! += 1;
  }
  return activity;
}

function emptyWeek(): number[] {
  return Array.from({ length: HOURS_A_WEEK }, () => 0);
}

/** The profile's weights now and in the next 24 hours. @param now epoch ms */
export function weightsAt(profile: Profile, timezone: string, now: number): Weights {
  const local = localTime(timezone);
  const weights = Array.from(
    { length: HOURS_A_DAY + 1 },
    (_, hour) => profile[local(now + hour * HOUR).hourOfWeek] ?? 1,
  );
  // Each of the next hours begins in one hour of the clock and ends in the next one.
  const { past } = local(now);
  const ahead = weights.slice(0, -1).map((weight, hour) => {
    return (1 - past) * weight + past * (weights[hour + 1] ?? weight);
  });
  return { now: weights[0] ?? 1, ahead };
}

/** Requests between two instants (epoch ms) at the profile's pace, if `aDay` are sent in a day. */
export function requestsBetween(
  profile: Profile,
  timezone: string,
  { from, to, aDay }: { from: number; to: number; aDay: number },
): number {
  const local = localTime(timezone);
  let hours = 0;
  for (let at = from; at < to; at += HOUR)
    hours += (profile[local(at).hourOfWeek] ?? 1) * Math.min(1, (to - at) / HOUR);
  return (aDay * hours) / HOURS_A_DAY;
}

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
