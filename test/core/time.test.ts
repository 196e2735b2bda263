import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import {
  clockTime,
  inClockTimes,
  fromNow,
  thousands,
  duration,
  plural,
  whenDue,
} from '../../src/core/humanize.ts';
import { pauseAfterFailure, pauseAfterStrike, retryAfter } from '../../src/core/retry-timing.ts';
import { epochToIso, threadStart } from '../../src/service/timestamps.ts';

const NOW = Date.parse('2026-03-02T08:00:00.000Z');

test('an epoch in seconds and the same one in milliseconds or microseconds give the same instant', () => {
  expect(epochToIso(1_709_036_168)).toBe('2024-02-27T12:16:08.000Z');
  expect(epochToIso(1_709_036_168_000)).toBe('2024-02-27T12:16:08.000Z');
  fc.assert(
    fc.property(fc.integer({ min: 100_000_000, max: 9_999_999_999 }), (seconds) => {
      expect(epochToIso(seconds)).toBe(epochToIso(seconds * 1000));
      expect(epochToIso(seconds)).toBe(epochToIso(seconds * 1_000_000));
      expect(Date.parse(epochToIso(seconds) ?? '')).toBe(seconds * 1000);
    }),
  );
});

test('a fraction of a second is kept to the millisecond', () => {
  expect(epochToIso(1_709_036_168.25)).toBe('2024-02-27T12:16:08.250Z');
});

test.each([1e18, -1e18, -62_167_219_200, Number.NaN, Number.POSITIVE_INFINITY, 1e300])(
  'the epoch %d gives null: a database could not store and sort its instant',
  (epoch) => {
    expect(epochToIso(epoch)).toBeNull();
  },
);

test('every instant is text of the same length, so that text sorts as time', () => {
  fc.assert(
    fc.property(fc.double(), (epoch) => {
      const text = epochToIso(epoch);
      expect(text === null || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)).toBe(true);
    }),
  );
});

test("a thread's start is read from its id", () => {
  const started = Date.parse('2024-02-27T12:16:08.123Z');
  expect(threadStart(`${started.toString(16)}abcde`)).toBe('2024-02-27T12:16:08.123Z');
  expect(threadStart(`${started.toString(16)}abcde`.toUpperCase())).toBe('2024-02-27T12:16:08.123Z');
});

test.each([
  null,
  '',
  'thread-f:1789',
  '18e0',
  'fffffffffffffffff',
  '0000000000000001',
  'ffffffffffffffff',
  '18e0d2f3a4b5c6dg',
])('the thread id %s gives no start', (id) => {
  expect(threadStart(id)).toBeNull();
});

test('pauses after 429s last 5 s, 30 s, 3 min, 18 min, then 1 h, and at most 20 % longer', () => {
  const ladder = [5000, 30_000, 3 * MINUTE, 18 * MINUTE, HOUR, HOUR];
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (strike, random) => {
        const rung = ladder[Math.min(strike, 6) - 1] ?? HOUR;
        expect(pauseAfterStrike(strike, null, random)).toBeGreaterThanOrEqual(rung);
        expect(pauseAfterStrike(strike, null, random)).toBeLessThanOrEqual(rung * 1.2);
      },
    ),
  );
});

test('Retry-After sets the first pause, can only lengthen later ones, and is capped at a day', () => {
  expect(pauseAfterStrike(1, 1000, 0.5)).toBe(1000);
  expect(pauseAfterStrike(2, 1000, 0)).toBe(30_000);
  expect(pauseAfterStrike(2, 45_000, 0)).toBe(45_000);
  expect(pauseAfterStrike(1, 1e12, 1)).toBe(24 * HOUR);
  expect(pauseAfterStrike(9, Number.MAX_SAFE_INTEGER, 1)).toBe(24 * HOUR);
});

test('pauses after failures last 2, 4 and 8 s, and at most 20 % longer', () => {
  expect([1, 2, 3].map((failures) => pauseAfterFailure(failures, 0))).toEqual([2000, 4000, 8000]);
  expect(pauseAfterFailure(3, 1)).toBeCloseTo(9600);
});

test.each([
  ['7', 7000],
  [' 7 ', 7000],
  ['Mon, 02 Mar 2026 08:00:40 GMT', 40_000],
  ['Monday, 02-Mar-26 08:00:40 GMT', 40_000],
  ['Mon Mar  2 08:00:40 2026', 40_000],
  ['99999999999999999999999', Number.MAX_SAFE_INTEGER],
  ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
])('Retry-After %s means a wait of %d ms', (header, wait) => {
  expect(retryAfter({ retryAfter: header }, NOW)).toBe(wait);
});

test.each([
  undefined,
  '',
  '0',
  '-5',
  '1.5',
  '1e3',
  'soon',
  'in 2099',
  'Mon, 02 Mar 2026 08:00:00 GMT',
  'Mon, 02 Mar 2026 07:59:59 GMT',
  'Mon, 99 Foo 2026 08:00:40 GMT',
])('Retry-After %s is ignored', (header) => {
  expect(retryAfter({ retryAfter: header }, NOW)).toBeNull();
});

test.each([
  ['Mon, 02 Mar 2026 07:40:00 GMT', 'Mon, 02 Mar 2026 07:40:40 GMT'],
  ['Mon, 02 Mar 2026 08:20:00 GMT', 'Mon, 02 Mar 2026 08:20:40 GMT'],
  ['Mon, 02 Mar 2026 08:20:00 GMT', '40'],
  ['nonsense', 'Mon, 02 Mar 2026 08:00:40 GMT'],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 'Mon, 02 Mar 2026 08:00:40 GMT'],
])('in an answer of %s, Retry-After %s means a wait of 40 s', (date, header) => {
  expect(retryAfter({ retryAfter: header, date }, NOW)).toBe(40_000);
});

test.each([undefined, 'soon'])('a date before 1970 makes no wait of Retry-After %s', (header) => {
  expect(retryAfter({ retryAfter: header, date: 'Mon, 01 Jan 1900 00:00:00 GMT' }, NOW)).toBeNull();
});

test('any Retry-After gives null or a positive number of milliseconds', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
        fc.bigInt().map(String),
      ),
      (header) => {
        const wait = retryAfter({ retryAfter: header }, NOW);
        expect(wait === null || (Number.isFinite(wait) && wait > 0)).toBe(true);
      },
    ),
  );
});

test.each([
  [0, 'under 1 s'],
  [-5, 'under 1 s'],
  [1000, '1 s'],
  [59_600, '1 min'],
  [90_000, '1 min 30 s'],
  [HOUR + 20 * MINUTE + 4000, '1 h 20 min'],
  [HOUR - 400, '1 h'],
  [24 * HOUR - 5000, '1 d'],
  [52 * HOUR, '2 d 4 h'],
])('%d ms are printed as "%s"', (ms, words) => {
  expect(duration(ms)).toBe(words);
});

test('a printed duration is off by at most half of its smaller unit', () => {
  const units: Record<string, number> = { d: 24 * HOUR, h: HOUR, min: MINUTE, s: 1000 };
  const read = (words: string): number =>
    [...words.matchAll(/(\d+) (\w+)/g)].reduce(
      (sum, [, many, unit]) => sum + Number(many) * (units[unit ?? ''] ?? 0),
      0,
    );
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 400 * 24 * HOUR }), (ms) => {
      const error = Math.abs(read(duration(ms)) - ms);
      const smaller = ms >= 24 * HOUR - 30_000 ? HOUR : ms >= HOUR - 500 ? MINUTE : 1000;
      expect(error).toBeLessThanOrEqual(smaller / 2 + 500);
    }),
  );
});

test('a printed instant is never, just now, some time ago or in some time', () => {
  expect(fromNow(null, NOW)).toBe('never');
  expect(fromNow(new Date(NOW - 500), NOW)).toBe('just now');
  expect(fromNow(new Date(NOW - 3 * MINUTE), NOW)).toBe('3 min ago');
  expect(fromNow(new Date(NOW + 2 * HOUR), NOW)).toBe('in 2 h');
});

test('a moment that is due, or less than a second ahead, is printed as now', () => {
  expect(whenDue(new Date(NOW - MINUTE), NOW)).toBe('now');
  expect(whenDue(new Date(NOW + 500), NOW)).toBe('now');
  expect(whenDue(new Date(NOW + 2 * HOUR), NOW)).toBe('in 2 h');
});

test('a printed count separates thousands, and its noun agrees in number', () => {
  expect(thousands(12_345)).toBe('12,345');
  expect(plural(1, 'request')).toBe('1 request');
  expect(plural(0, 'request')).toBe('0 requests');
  expect(plural(12_345, 'inbox')).toBe('12,345 inboxes');
});

test.each([
  ['2026-11-21T14:41:00Z', 'UTC', '14:41 UTC'],
  ['2026-11-22T03:05:00Z', 'UTC', 'tomorrow 03:05 UTC'],
  ['2026-11-24T14:41:00Z', 'UTC', '24 Nov 14:41 UTC'],
  ['2027-01-02T14:41:00Z', 'UTC', '2 Jan 2027 14:41 UTC'],
  ['2026-11-21T23:30:00Z', 'Asia/Kolkata', 'tomorrow 05:00'],
])('the instant %s is shown in the time zone %s as %s', (instant, zone, words) => {
  const now = Date.parse('2026-11-21T12:31:00Z');
  expect(clockTime(new Date(instant), now, zone)).toBe(words);
  expect(inClockTimes(`paused until ${instant}, then on`, now, zone)).toBe(`paused until ${words}, then on`);
});

test.each(['0000-00-00T00:00:00Z', '2026-06-30T23:59:60Z', '2026-13-45T99:99:99Z'])(
  'a foreign text with %s, which is no instant, is left as it came',
  (instant) => {
    const text = `Down until ${instant}`;
    expect(inClockTimes(text, Date.parse('2026-11-21T12:31:00Z'), 'UTC')).toBe(text);
  },
);
