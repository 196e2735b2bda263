import { HOUR } from '../../../core/clock.ts';
import type { Weights } from '../pace.ts';
import { type Activity, expectedIn } from './activity.ts';
import { HOURS_A_DAY, HOURS_A_WEEK, localTime, type Week } from './week.ts';

/** The weight of each hour of the week. Its mean over any day is about 1. */
export type Profile = Week;

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
  const expected = expectedIn(activity);
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
