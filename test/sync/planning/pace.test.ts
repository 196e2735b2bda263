import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/core/clock.ts';
import { EVEN, paceOf, recordedPace, type Weights } from '../../../src/sync/planning/pace.ts';
import { activityOf, intensityOf } from '../../../src/sync/planning/week/activity.ts';
import { profileOf, weightsAt } from '../../../src/sync/planning/week/profile.ts';
import { FLAT, localTime } from '../../../src/sync/planning/week/week.ts';

const MONDAY = Date.parse('2026-03-02T00:00:00Z');
const hoursOf = <Value>(length: number, value: (hour: number) => Value): Value[] =>
  Array.from({ length }, (_, hour) => value(hour));

/** Follows the pace for some hours. `sent` has the requests of the 24 hours before. Returns those of each hour. */
function follow(
  cap: number,
  sent: readonly number[],
  hours: number,
  weights: (hour: number) => Weights = () => EVEN,
): number[] {
  const all = [...sent];
  for (let hour = 0; hour < hours; hour += 1) {
    const leaving = all.slice(-24);
    const left = cap - leaving.reduce((sum, requests) => sum + requests, 0);
    all.push(paceOf({ left, leaving }, weights(hour)));
  }
  return all.slice(24);
}

const day = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 24, maxLength: 24 });
const weights = fc.record({
  now: fc.double({ min: 0.1, max: 4, noNaN: true }),
  ahead: fc.array(fc.double({ min: 0.1, max: 4, noNaN: true }), { minLength: 24, maxLength: 24 }),
});

test('a recorded pace counts for two minutes, also after the clock was set back', () => {
  const credit = { requests: 1, at: MONDAY, anHour: 198 };
  const at = (minutes: number): number | null => recordedPace(credit, MONDAY + minutes * MINUTE);
  expect([-3, -2, 0, 2, 3].map(at)).toEqual([null, 198, 198, 198, null]);
  expect(recordedPace({ requests: 1, at: MONDAY }, MONDAY)).toBeNull();
  expect(recordedPace(null, MONDAY)).toBeNull();
});

describe('the pace', () => {
  test('leaves every hour of the coming day its share, whatever was sent and however the hours weigh', () => {
    fc.assert(
      fc.property(fc.integer({ min: -200, max: 5000 }), day, weights, (left, leaving, weighed) => {
        const anHour = paceOf({ left, leaving }, weighed) / weighed.now;
        expect(anHour).toBeGreaterThanOrEqual(0);
        let [free, weight] = [left, 0];
        for (const [hour, requests] of leaving.entries()) {
          free += requests;
          weight += weighed.ahead[hour]!;
          if (anHour > 0) expect(anHour * weight).toBeLessThanOrEqual(free + 1e-6);
        }
      }),
    );
  });

  test('becomes even within four days, whatever the first day was like', () => {
    fc.assert(
      fc.property(day, (sent) => {
        const cap = Math.max(
          4800,
          sent.reduce((sum, requests) => sum + requests, 0),
        );
        for (const requests of follow(cap, sent, 120).slice(96)) {
          expect(requests).toBeGreaterThan((0.7 * cap) / 24);
          expect(requests).toBeLessThan((1.3 * cap) / 24);
        }
      }),
    );
  });

  test('spreads what a first filling leaves over the rest of its day', () => {
    const filled = hoursOf(24, (hour) => (hour === 23 ? 640 : 0));
    const [first, ...rest] = follow(4750, filled, 22);
    expect(first).toBeCloseTo((4750 - 640) / 23, 0);
    expect(Math.min(...rest)).toBeGreaterThan(0.9 * first!);
  });

  test('spends the whole cap in each day when the hours of the day weigh differently', () => {
    const profile = hoursOf(168, (hour) => (hour % 24 >= 8 && hour % 24 < 18 ? 1.9 : 0.36));
    const sent = follow(
      4800,
      hoursOf(24, () => 0),
      240,
      (hour) => weightsAt(profile, 'UTC', MONDAY + hour * HOUR),
    );
    const lastDay = sent.slice(-24);
    expect(lastDay.reduce((sum, requests) => sum + requests, 0)).toBeGreaterThan(0.98 * 4800);
    expect(lastDay[12]! / lastDay[3]!).toBeGreaterThan(4);
  });
});

test('the local clock is that of the time zone at every instant, also where offsets are odd and clocks change', () => {
  const zones = ['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/St_Johns', 'Australia/Lord_Howe'];
  fc.assert(
    fc.property(fc.constantFrom(...zones), fc.integer({ min: 0, max: 2 * 365 * DAY }), (zone, ms) => {
      const at = MONDAY + ms;
      const { hourOfWeek, past } = localTime(zone)(at);
      const minutes = Math.floor(past * 60 + 1e-9);
      const words = new Intl.DateTimeFormat('en-GB', {
        timeZone: zone,
        weekday: 'short',
        hour: '2-digit',
        minute: '2-digit',
        hourCycle: 'h23',
      }).format(at);
      const weekday = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'][Math.floor(hourOfWeek / 24)]!;
      const two = (number: number): string => String(number).padStart(2, '0');
      expect(words).toBe(`${weekday} ${two(hourOfWeek % 24)}:${two(minutes)}`);
    }),
    { numRuns: 500 },
  );
});

describe('the profile', () => {
  const seen = (changes: (hour: number) => number, days: number) =>
    activityOf(
      hoursOf(days * 24, (hour) => ({ first: hour, last: hour, changes: changes(hour) })),
      { since: MONDAY, now: MONDAY + days * 24 * HOUR, timezone: 'UTC' },
    );
  const office = (hour: number): number => (hour % 24 >= 8 && hour % 24 < 18 ? 50 : 0);

  test('is flat before anything is learned', () => {
    const profile = profileOf(activityOf([], { since: MONDAY, now: MONDAY + HOUR, timezone: 'UTC' }), 0);
    expect(profile).toEqual(FLAT);
  });

  test('follows the square root of the activity, also on a weekday that it has not seen yet', () => {
    const profile = profileOf(seen(office, 2), 0);
    // The profile has a floor: no hour gets less than a tenth of the mean.
    expect(profile[4 * 24 + 12]! / profile[4 * 24 + 3]!).toBeGreaterThan(10);
    const month = profileOf(
      seen((hour) => (hour % 24 < 12 ? 100 : 25), 28),
      0,
    );
    expect(month[30]! / month[40]!).toBeCloseTo(2, 1);
  });

  test('takes hours that were never watched for usual ones', () => {
    const morning = Array.from({ length: 3 }, (_, hour) => ({
      first: 9 + hour,
      last: 9 + hour,
      changes: 500,
    }));
    const options = { since: MONDAY, now: MONDAY + 12 * HOUR, timezone: 'UTC' };
    const profile = profileOf(activityOf(morning, options), 0);
    expect(profile[10]! / profile[15]!).toBeLessThan(1.2);
  });

  test('has a mean of 1 over a usual day, and gives no hour less than a tenth or more than three times as much', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: 24, maxLength: 24 }),
        fc.double({ min: 0, max: 24, noNaN: true }),
        (byHour, delay) => {
          const profile = profileOf(
            seen((hour) => byHour[hour % 24]!, 14),
            delay,
          );
          expect(Math.min(...profile)).toBeGreaterThanOrEqual(0.1);
          expect(Math.max(...profile)).toBeLessThanOrEqual(3);
          const mean = profile.slice(24, 48).reduce((sum, weight) => sum + weight, 0) / 24;
          expect(mean).toBeGreaterThan(0.99);
          expect(mean).toBeLessThan(1.1);
        },
      ),
      { examples: [[Array.from({ length: 24 }, (_, hour) => ({ 0: 1, 22: 3, 23: 1 })[hour] ?? 0), 0]] },
    );
  });

  test('follows the activity later where changes wait for hours', () => {
    const [noon, evening] = [12, 18].map(
      (hour) => (delay: number) => profileOf(seen(office, 14), delay)[3 * 24 + hour]!,
    );
    expect(evening!(0)).toBeLessThan(0.2);
    expect(evening!(0.03)).toBe(evening!(0));
    // Half an hour: of the activity of the last busy hour, e^-1 counts in the hour after it.
    expect(evening!(0.5) / noon!(0.5)).toBeCloseTo(Math.exp(-0.5), 1);
    // An hour's lag is the longest one. A delay of 0.6 hours moves nothing to the evening yet.
    expect(evening!(0.5)).toBe(evening!(0.6));
  });

  test('sends most at the end of the working day where changes wait for hours', () => {
    const weight = (delay: number) => (hour: number) => profileOf(seen(office, 14), delay)[3 * 24 + hour]!;
    const [noon, end, evening, night] = [12, 18, 21, 3];
    expect(weight(0.6)(end)).toBeLessThan(weight(0.6)(noon));
    expect(weight(1.2)(end)).toBeGreaterThan(weight(0.6)(end));
    expect(weight(3)(end) / weight(3)(noon)).toBeGreaterThan(2);
    expect(weight(3)(evening)).toBeGreaterThan(weight(0.6)(evening));
    expect(weight(3)(night)).toBeLessThan(0.2);
    expect(weight(3.1)(end), 'no further than with 3.1 hours').toBe(weight(20)(end));
  });

  test('moves nothing to another hour where the activity has no end', () => {
    const even = seen(() => 50, 14);
    expect(profileOf(even, 20)).toEqual(profileOf(even, 0));
  });

  test('takes no lunch break for the end of the working day', () => {
    const withBreak = (hour: number): number => (hour % 24 === 13 ? 0 : office(hour));
    const weight = (hour: number): number => profileOf(seen(withBreak, 14), 20)[3 * 24 + hour]!;
    for (const hour of [11, 12, 13, 14]) expect(weight(hour), `${hour}:00`).toBeLessThan(weight(18) / 2);
  });

  test('the planner expects a fiftieth of the mean activity even in hours in which nothing was ever seen', () => {
    expect(Math.min(...intensityOf(seen(office, 28)))).toBe(0.02);
  });

  test('counts a change evenly for the hours between its two sightings, and ignores a gap of days', () => {
    const { changes, times } = activityOf(
      [
        { first: 10, last: 13, changes: 8 },
        { first: 20, last: 60, changes: 500 },
      ],
      { since: MONDAY, now: MONDAY + 48 * HOUR, timezone: 'UTC' },
    );
    expect(changes.slice(9, 15)).toEqual([0, 2, 2, 2, 2, 0]);
    expect(changes.reduce((sum, value) => sum + value, 0)).toBe(8);
    expect([times[9], times[10], times[47], times[48]]).toEqual([0, 1, 1, 0]);
  });

  test('counts a change of a long gap for those of its hours in which other changes fall', () => {
    const days = 14;
    const spans = Array.from({ length: days }, (_, nth) => [
      { first: nth * 24 + 12, last: nth * 24 + 12, changes: 20 },
      { first: nth * 24 + 9, last: nth * 24 + 20, changes: 12 },
    ]).flat();
    const { changes } = activityOf(spans, {
      since: MONDAY,
      now: MONDAY + days * 24 * HOUR,
      timezone: 'UTC',
    });
    const [noon, evening] = [changes[12]! / 2, changes[20]! / 2];
    expect(noon).toBeGreaterThan(28);
    expect(evening).toBeLessThan(0.4);
    expect(changes.reduce((sum, value) => sum + value, 0)).toBeCloseTo(days * 32);
  });

  test('reads the hours of the week in the time zone of the reports', () => {
    const profile = hoursOf(168, (hour) => hour);
    const kathmandu = weightsAt(profile, 'Asia/Kathmandu', MONDAY);
    // 5:45 in Kathmandu: the next 60 minutes are a quarter of hour 5 and three quarters of hour 6.
    expect(kathmandu.now).toBe(5);
    expect(kathmandu.ahead.slice(0, 2)).toEqual([5.75, 6.75]);
    expect(weightsAt(profile, 'America/New_York', MONDAY).now).toBe(6 * 24 + 19);
  });
});
