import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY, HOUR } from '../../../src/core/clock.ts';
import { cronOf, slotsPerDay } from '../../../src/sync/planning/cron.ts';

/** Every slot from `from` (inclusive) to `until`. */
function slots(expression: string, timezone: string, from: number, until: number): number[] {
  const cron = cronOf(expression, timezone);
  const found: number[] = [];
  for (let at = cron.next(from - 1); at < until; at = cron.next(at)) found.push(at);
  return found;
}

/** Local hour and minute in a time zone, computed by Intl alone. */
function wallClock(timezone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return (at) => format.format(at);
}

// Berlin's clock changes in 2026: 29 March has 23 hours, 25 October has 25.
const DAYS = {
  spring: [Date.parse('2026-03-28T23:00:00Z'), Date.parse('2026-03-29T22:00:00Z')],
  autumn: [Date.parse('2026-10-24T22:00:00Z'), Date.parse('2026-10-25T23:00:00Z')],
  usual: [Date.parse('2026-05-04T22:00:00Z'), Date.parse('2026-05-05T22:00:00Z')],
} as const;

describe('a schedule', () => {
  test.each([
    ['usual', '*/15 * * * *', 96],
    ['spring', '*/15 * * * *', 92],
    ['autumn', '*/15 * * * *', 100],
    ['usual', '0 * * * *', 24],
    ['spring', '0 * * * *', 23],
    ['autumn', '0 * * * *', 25],
    ['usual', '20 */6 * * *', 4],
    ['spring', '20 */6 * * *', 4],
    ['autumn', '20 */6 * * *', 4],
    // 02:30 does not exist on that spring day and occurs twice on that autumn day.
    ['spring', '30 2 * * *', 0],
    ['autumn', '30 2 * * *', 2],
    ['autumn', '*/10 * 2 * * *', 2 * 360],
  ] as const)('runs when the wall clock matches: on the %s day, %s, %i times', (day, expression, times) => {
    const [from, until] = DAYS[day];
    expect(slots(expression, 'Europe/Berlin', from, until)).toHaveLength(times);
  });

  test('runs every 15 minutes, also in the repeated hour', () => {
    const [from, until] = DAYS.autumn;
    const found = slots('*/15 * * * *', 'Europe/Berlin', from, until);
    expect(new Set(found.slice(1).map((at, index) => at - found[index]!))).toEqual(new Set([HOUR / 4]));
  });

  test('runs at exactly the minutes whose wall clock matches, in any zone and on any day', () => {
    const zones = [
      'UTC',
      'Europe/Berlin',
      'America/St_Johns',
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
      'Pacific/Apia',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: Date.UTC(2024, 0, 1) / 60_000, max: Date.UTC(2028, 0, 1) / 60_000 }),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        (zone, minute, hour, past) => {
          const from = minute * 60_000;
          const clock = wallClock(zone);
          const wanted = `${String(hour).padStart(2, '0')}:${String(past).padStart(2, '0')}`;
          const minutes = Array.from({ length: 1500 }, (_, index) => from + index * 60_000);
          expect(slots(`${past} ${hour} * * *`, zone, from, from + 1500 * 60_000)).toEqual(
            minutes.filter((at) => clock(at) === wanted),
          );
        },
      ),
      { numRuns: 20 },
    );
  });
});

test('next finds the slot after a weekend, a month and years, also when it is called again', () => {
  const friday = Date.parse('2026-11-20T18:00:00Z');
  expect(new Date(cronOf('0 9 * * 1-5', 'UTC').next(friday)).toISOString()).toBe('2026-11-23T09:00:00.000Z');
  expect(new Date(cronOf('0 0 1 * *', 'UTC').next(friday)).toISOString()).toBe('2026-12-01T00:00:00.000Z');
  const leap = cronOf('0 0 29 2 *', 'UTC');
  expect(new Date(leap.next(friday)).toISOString()).toBe('2028-02-29T00:00:00.000Z');
  expect(leap.next(friday + DAY)).toBe(leap.next(friday));
  // The answer for one span is not used for another.
  expect(leap.next(Date.parse('2023-01-01T00:00:00Z'))).toBe(Date.parse('2024-02-29T00:00:00Z'));
});

test('a schedule of which summer time skips every slot is a fault of the configuration', () => {
  // On the Sundays on which Berlin's summer time begins there is no half past two.
  expect(() => cronOf('30 2 31 3 0', 'Europe/Berlin').next(Date.parse('2026-11-20T18:00:00Z'))).toThrow(
    /^The schedule `30 2 31 3 0` has no slot in the time zone Europe\/Berlin: summer time skips/,
  );
});

test.each([
  ['*/15 * * * *', 96],
  ['0 3 * * *', 1],
  ['0,30 9-16 * * 1-5', (16 * 5) / 7],
  ['*/20 * * * * *', 3 * 60 * 24],
  ['0 3 1 * *', 1 / 28],
  ['0 3 * * 1', 1 / 7],
])('%s has on average %d slots a day in the next four weeks', (expression, expected) => {
  // Four weeks from 5 November contain one first of a month.
  const now = Date.parse('2026-11-05T10:30:00Z');
  expect(slotsPerDay(cronOf(expression, 'UTC'), now)).toBeCloseTo(expected, 10);
  const until = now + 28 * DAY;
  if (expected < 100) expect(slots(expression, 'UTC', now, until).length / 28).toBeCloseTo(expected, 1);
});
