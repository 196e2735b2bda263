import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/core/clock.ts';
import { cronOf } from '../../../src/sync/planning/cron.ts';
import { promiseOf } from '../../../src/sync/planning/freshness.ts';

/** The promise of a list that was complete at an instant, in hours. */
function promise(expression: string, timezone: string, completeAt: string | number): number {
  const at = new Date(completeAt);
  return promiseOf(cronOf(expression, timezone), at, at.getTime()) / HOUR;
}

/** When summer time ends in three zones, the offset from UTC before (hours), and by how much it falls. */
const ENDS = [
  ['Europe/Berlin', '2026-10-25T01:00:00Z', 2, 1],
  ['America/New_York', '2026-11-01T06:00:00Z', -4, 1],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z', 11, 0.5],
] as const;

describe('the promise of a list', () => {
  test.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T16:20:00Z'],
    ['0,30 2 * * *', 'Europe/Berlin', '2026-10-25T00:40:00Z'],
    ['0 */2 * * *', 'Europe/Berlin', '2026-10-24T22:10:00Z'],
    ['30 1 * * *', 'America/New_York', '2026-10-31T20:00:00Z'],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T06:00:00Z'],
  ])('does not shrink where summer time ends and the slot occurs twice: %s, %s', (expression, zone, at) => {
    const usual = promise(expression, zone, Date.parse(at) - 3 * DAY);
    expect(promise(expression, zone, at)).toBeGreaterThanOrEqual(usual);
    expect(promise(expression, zone, at)).toBeLessThanOrEqual(usual + 1);
  });

  test('ends at the second local time that the schedule names, whatever the schedule', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ENDS),
        fc.constantFrom('* * * * *', '*/15 * * * *', '0 * * * *', '45 * * * *', '20 1,2 * * *', '0 3 * * *'),
        fc.integer({ min: -1500, max: 300 }),
        ([zone, end, offset, shift], expression, minutes) => {
          const [setAt, offsetMs, shiftMs] = [Date.parse(end), offset * HOUR, shift * HOUR];
          const at = setAt + minutes * MINUTE;
          // Local times as if they were UTC. In the repeated time each slot until its end has occurred.
          const last = setAt + offsetMs - 1;
          const local = at < setAt ? at + offsetMs : Math.max(last, at + offsetMs - shiftMs);
          const utc = cronOf(expression, 'UTC');
          const second = utc.next(utc.next(local));
          const endsAt = second - offsetMs + (second > last ? shiftMs : 0);
          expect(promise(expression, zone, at)).toBeCloseTo(Math.max(2 * MINUTE, endsAt - at) / HOUR, 9);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('lasts until the second slot on other days', () => {
    expect(promise('30 2 * * *', 'Europe/Berlin', '2026-10-20T16:20:00Z')).toBeCloseTo(32 + 1 / 6);
    expect(promise('30 3 * * *', 'Europe/Berlin', '2026-10-24T16:20:00Z')).toBeCloseTo(34 + 1 / 6);
    expect(promise('*/15 * * * *', 'Europe/Berlin', '2026-10-24T16:20:00Z')).toBeCloseTo(25 / 60);
    expect(promise('0 * * * *', 'UTC', '2026-10-25T00:20:00Z')).toBeCloseTo(1 + 2 / 3);
  });
});
