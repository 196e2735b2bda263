import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ago, count, duration, plural } from '../../src/core/humanize.ts';
import { pauseAfter429, pauseAfterFailure, retryAfter } from '../../src/core/retry-timing.ts';
import { epochToIso, threadStart } from '../../src/service/timestamps.ts';

const NOW = Date.parse('2026-03-02T08:00:00.000Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('an instant in seconds and the same in milliseconds are one', () => {
  expect(epochToIso(1_709_036_168)).toBe('2024-02-27T12:16:08.000Z');
  expect(epochToIso(1_709_036_168_000)).toBe('2024-02-27T12:16:08.000Z');
  fc.assert(
    fc.property(fc.integer({ min: 100_000_000, max: 9_999_999_999 }), (seconds) => {
      expect(epochToIso(seconds)).toBe(epochToIso(seconds * 1000));
      expect(Date.parse(epochToIso(seconds) ?? '')).toBe(seconds * 1000);
    }),
  );
});

test('a fraction of a second is kept to the millisecond', () => {
  expect(epochToIso(1_709_036_168.25)).toBe('2024-02-27T12:16:08.250Z');
});

test.each([1e15, 1e18, -1e15, -62_167_219_200, Number.NaN, Number.POSITIVE_INFINITY, 1e300])(
  '%d is no instant that a database could hold and sort',
  (epoch) => {
    expect(epochToIso(epoch)).toBeNull();
  },
);

test('every instant is text of one length, so that text sorts as time', () => {
  fc.assert(
    fc.property(fc.double(), (epoch) => {
      const text = epochToIso(epoch);
      expect(text === null || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)).toBe(true);
    }),
  );
});

test("a thread's beginning is read from its id", () => {
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
])('the thread id %s tells no beginning', (id) => {
  expect(threadStart(id)).toBeNull();
});

test('the pauses after 429 are 5 s, 30 s, 3 min, 18 min, then an hour, never shorter and at most 20 % longer', () => {
  const ladder = [5000, 30_000, 3 * MINUTE, 18 * MINUTE, HOUR, HOUR];
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (strike, random) => {
        const rung = ladder[Math.min(strike, 6) - 1] ?? HOUR;
        expect(pauseAfter429(strike, null, random)).toBeGreaterThanOrEqual(rung);
        expect(pauseAfter429(strike, null, random)).toBeLessThanOrEqual(rung * 1.2);
      },
    ),
  );
});

test('a hint is honoured as it is the first time; later it only lengthens the pause; beyond a day it is a day', () => {
  expect(pauseAfter429(1, 1000, 0.5)).toBe(1000);
  expect(pauseAfter429(2, 1000, 0)).toBe(30_000);
  expect(pauseAfter429(2, 45_000, 0)).toBe(45_000);
  expect(pauseAfter429(1, 1e12, 1)).toBe(24 * HOUR);
  expect(pauseAfter429(9, Number.MAX_SAFE_INTEGER, 1)).toBe(24 * HOUR);
});

test('the pauses after failures are 2, 4 and 8 s, at most 20 % longer', () => {
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
])('Retry-After %s is a wait of %d ms', (header, wait) => {
  expect(retryAfter(header, NOW)).toBe(wait);
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
])('Retry-After %s is no hint', (header) => {
  expect(retryAfter(header, NOW)).toBeNull();
});

test('whatever a server sends as Retry-After, the wait is null or a positive number', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
        fc.bigInt().map(String),
      ),
      (header) => {
        const wait = retryAfter(header, NOW);
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
])('%d ms are %s', (ms, words) => {
  expect(duration(ms)).toBe(words);
});

test('a length of time in words is off by at most half of its smaller unit', () => {
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

test('how long ago, and how long until', () => {
  expect(ago(null, NOW)).toBe('never');
  expect(ago(new Date(NOW - 500), NOW)).toBe('just now');
  expect(ago(new Date(NOW - 3 * MINUTE), NOW)).toBe('3 min ago');
  expect(ago(new Date(NOW + 2 * HOUR), NOW)).toBe('in 2 h');
});

test('counts have their thousands apart and their nouns in number', () => {
  expect(count(12_345)).toBe('12,345');
  expect(plural(1, 'request')).toBe('1 request');
  expect(plural(0, 'request')).toBe('0 requests');
  expect(plural(12_345, 'inbox')).toBe('12,345 inboxes');
});
