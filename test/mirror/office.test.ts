import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { type OfficeHours, officeIntervals, type OfficeSpan } from '../../src/mirror/settings/office.ts';
import { instantOf, offsetsBetween } from '../../src/mirror/settings/offsets.ts';

/** The same office hours every day. */
function daily(timezone: string, ...spans: OfficeSpan[]): OfficeHours {
  return { timezone, week: Array.from({ length: 7 }, () => spans) };
}

function intervalsOf(office: OfficeHours, from: string, to: string): string[] {
  const offsets = offsetsBetween(office.timezone, Date.parse(from), Date.parse(to));
  return officeIntervals(office, offsets).map(
    ({ startsAt, endsAt, beforeSeconds }) =>
      `${new Date(startsAt).toISOString().slice(0, 16)} ${(endsAt - startsAt) / MINUTE} ${beforeSeconds}`,
  );
}

test('an offset ends at the millisecond at which the clocks are set', () => {
  expect(
    offsetsBetween('Europe/Berlin', Date.parse('2026-01-01T00:00:00Z'), Date.parse('2027-01-01T00:00:00Z')),
  ).toEqual(
    [
      ['2026-01-01T00:00:00Z', '2026-03-29T01:00:00Z', 1],
      ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z', 2],
      ['2026-10-25T01:00:00Z', '2027-01-01T00:00:00Z', 1],
    ].map(([from, to, hours]) => ({
      startsAt: Date.parse(String(from)),
      endsAt: Date.parse(String(to)),
      offsetMs: Number(hours) * HOUR,
    })),
  );
});

test('a local time that is skipped or occurs twice has one instant', () => {
  const offsets = offsetsBetween(
    'Europe/Berlin',
    Date.parse('2026-03-01T00:00:00Z'),
    Date.parse('2026-11-01T00:00:00Z'),
  );
  const at = (local: string): string => new Date(instantOf(offsets, Date.parse(local)) ?? 0).toISOString();
  expect(at('2026-03-29T02:30:00Z')).toBe('2026-03-29T01:00:00.000Z');
  expect(at('2026-10-25T02:30:00Z')).toBe('2026-10-25T00:30:00.000Z');
  expect(instantOf(offsets, Date.parse('2026-12-01T00:00:00Z'))).toBeNull();
});

test('office hours at night have an hour less or more where the clocks are set', () => {
  const night = daily('Europe/Berlin', [60, 240]);
  expect(intervalsOf(night, '2026-03-27T23:00:00Z', '2026-03-30T00:00:00Z')).toEqual([
    '2026-03-28T00:00 180 0',
    '2026-03-29T00:00 120 10800',
    '2026-03-29T23:00 60 18000',
  ]);
  expect(intervalsOf(night, '2026-10-23T22:00:00Z', '2026-10-26T12:00:00Z')).toEqual([
    '2026-10-23T23:00 180 0',
    '2026-10-24T23:00 240 10800',
    '2026-10-26T00:00 180 25200',
  ]);
});

test('each weekday has its own spans, and the days between them have none', () => {
  const week: OfficeSpan[][] = [
    [[540, 720]],
    [],
    [],
    [],
    [
      [540, 600],
      [660, 720],
    ],
    [],
    [],
  ];
  // 2 March 2026 is a Monday.
  expect(intervalsOf({ timezone: 'UTC', week }, '2026-03-02T00:00:00Z', '2026-03-10T00:00:00Z')).toEqual([
    '2026-03-02T09:00 180 0',
    '2026-03-06T09:00 60 10800',
    '2026-03-06T11:00 60 14400',
    '2026-03-09T09:00 180 18000',
  ]);
});

test('in any zone and year, intervals are in order and hold the minutes that the wall clock shows', () => {
  const zone = fc.constantFrom('Europe/Berlin', 'America/St_Johns', 'Africa/Cairo', 'Australia/Lord_Howe');
  fc.assert(
    fc.property(zone, fc.integer({ min: 2015, max: 2030 }), fc.nat(364), (timezone, year, day) => {
      const from = Date.UTC(year, 0, 1 + day);
      const intervals = officeIntervals(
        daily(timezone, [510, 750], [810, 1440]),
        offsetsBetween(timezone, from, from + 3 * DAY),
      );
      const format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, timeStyle: 'short' });
      for (const [nth, { startsAt, endsAt, beforeSeconds, afterSeconds }] of intervals.entries()) {
        expect(beforeSeconds).toBe(intervals[nth - 1]?.afterSeconds ?? 0);
        expect(afterSeconds - beforeSeconds).toBe((endsAt - startsAt) / 1000);
        expect(startsAt).toBeGreaterThanOrEqual(intervals[nth - 1]?.endsAt ?? 0);
        if (startsAt > from) expect(['08:30', '13:30']).toContain(format.format(startsAt));
        // The last moment before it: where clocks are set at midnight, as in Cairo, no clock shows 00:00.
        if (endsAt < from + 3 * DAY) expect(['12:29', '23:59']).toContain(format.format(endsAt - 1));
      }
    }),
    { numRuns: 30 },
  );
});
