import { DAY, HOUR } from '../../../core/clock.ts';
import type { ActivitySpan } from '../../../mirror/history/activity.ts';
import type { Mirror } from '../../../mirror/mirror.ts';
import { FLAT, HOURS_A_DAY, HOURS_A_WEEK, localTime, type Week } from './week.ts';

/** For each hour of the week, its changes and how many times the hour has passed since the first change. */
export interface Activity {
  readonly changes: readonly number[];
  readonly times: readonly number[];
}

/**
 * Each hour of the day counts 1 change more than was seen in it, and as much more time as a change takes at
 * the mean rate (a Gamma prior). An hour that was never watched is then a usual one, few changes say little,
 * and the profile begins flat.
 */
const PRIOR_CHANGES = 1;

/** A change whose two sightings lie 24 hours or more apart says nothing about its hour. */
const WIDEST_SPAN = HOURS_A_DAY;

/**
 * After the even division, the changes are divided among the hours this many times more: each time in
 * proportion to the activity that the division before has shown.
 */
const REFINEMENTS = 3;

/** No hour has less than this share of the mean activity. */
const LEAST_INTENSITY = 0.02;

/** The account's activity in each hour of the week, as a multiple of the mean hour: 168 numbers. */
export function intensityOf(activity: Activity): Week {
  const expected = expectedIn(activity);
  const mean = expected.reduce((sum, changes) => sum + changes, 0) / HOURS_A_WEEK;
  return expected.map((changes) => Math.max(LEAST_INTENSITY, changes / mean));
}

/**
 * The changes to expect in each hour of the week. Each hour counts as if it had passed once more, with the
 * usual changes of that hour on all days.
 */
export function expectedIn({ changes, times }: Activity): number[] {
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
function spread(spans: readonly ActivitySpan[], intensity: Week, hoursOfWeek: readonly number[]): Activity {
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
