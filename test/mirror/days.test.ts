import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import { daysBetween } from '../../src/mirror/settings/days.ts';

function hours(timezone: string, day: string): unknown {
  const at = Date.parse(`${day}T12:00:00Z`);
  return daysBetween(timezone, at, at).map((one) => [
    one.day,
    new Date(one.startsAt).toISOString(),
    (one.endsAt - one.startsAt) / HOUR,
  ]);
}

test('a day in Berlin has 23 hours when clocks go forward and 25 when they go back', () => {
  expect(hours('Europe/Berlin', '2026-03-28')).toEqual([['2026-03-28', '2026-03-27T23:00:00.000Z', 24]]);
  expect(hours('Europe/Berlin', '2026-03-29')).toEqual([['2026-03-29', '2026-03-28T23:00:00.000Z', 23]]);
  expect(hours('Europe/Berlin', '2026-10-25')).toEqual([['2026-10-25', '2026-10-24T22:00:00.000Z', 25]]);
});

test('a day can start at 01:00, start at a quarter past a UTC hour, or be skipped', () => {
  // Cairo's clocks go forward at midnight, Kathmandu is 5:45 ahead, and Apia skipped 30 December 2011.
  expect(hours('Africa/Cairo', '2026-04-24')).toEqual([['2026-04-24', '2026-04-23T22:00:00.000Z', 23]]);
  expect(hours('Asia/Kathmandu', '2026-01-01')).toEqual([['2026-01-01', '2025-12-31T18:15:00.000Z', 24]]);
  const samoa = daysBetween(
    'Pacific/Apia',
    Date.parse('2011-12-29T12:00:00Z'),
    Date.parse('2012-01-01T00:00:00Z'),
  );
  expect(samoa.map(({ day }) => day)).not.toContain('2011-12-30');
});

test('days have no gaps or overlaps, and their first and last millisecond show their date', () => {
  const zones = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'Pacific/Chatham',
    'America/St_Johns',
  );
  fc.assert(
    fc.property(
      zones,
      fc.integer({ min: Date.UTC(2024), max: Date.UTC(2030) }),
      fc.nat(400),
      (timezone, from, many) => {
        const to = from + many * 24 * HOUR;
        const days = daysBetween(timezone, from, to);
        const show = new Intl.DateTimeFormat('en-CA', { timeZone: timezone });
        expect(days[0]!.startsAt <= from && days.at(-1)!.endsAt > to).toBe(true);
        for (const [nth, { day, startsAt, endsAt }] of days.entries()) {
          expect([show.format(startsAt), show.format(endsAt - 1)]).toEqual([day, day]);
          if (nth > 0) expect(days[nth - 1]!.endsAt).toBe(startsAt);
        }
      },
    ),
    { numRuns: 20 },
  );
});
