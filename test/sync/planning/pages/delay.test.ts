import { expect, test } from 'vitest';
import { HOUR } from '../../../../src/core/clock.ts';
import { AGES, KINDS, NEVER } from '../../../../src/mirror/mirror.ts';
import { meanDelay } from '../../../../src/sync/planning/pages/delay.ts';
import { PagePlan } from '../../../../src/sync/planning/pages/plan.ts';
import { Rates } from '../../../../src/sync/planning/pages/rates.ts';
import { Timeline } from '../../../../src/sync/planning/pages/timeline.ts';

const NOW = Date.parse('2026-11-19T12:00:00Z');
const MOMENT = { rates: new Rates(), timeline: new Timeline(NOW), now: NOW };

/** The mean delay in hours of inboxes that each have one page with so many rows. */
function delayOf(rows: readonly number[], anHour: number): number | null {
  const plan = new PagePlan();
  for (const [nth, count] of rows.entries())
    plan.replace(String(nth), [
      {
        inboxId: String(nth),
        afterId: '',
        token: null,
        direction: 'asc',
        readAt: NOW - HOUR,
        baselineAt: NOW,
        kinds: Array.from({ length: KINDS }, (_, kind) => (kind === AGES + NEVER ? count : 0)),
      },
    ]);
  return meanDelay(plan.all(), MOMENT, anHour);
}

test('a change waits half of the time between two readings of its page, on average', () => {
  expect(delayOf([100], 4)).toBeCloseTo(1 / 8);
  expect(delayOf([100, 100, 100], 4)).toBeCloseTo(3 / 8);
});

test('the same requests delay changes less, on average, where some pages change more than others', () => {
  expect(delayOf([10_000, 0], 4)!).toBeLessThan(delayOf([5000, 5000], 4)!);
});

test('without requests or without pages the mean delay is unknown', () => {
  expect([delayOf([100], 0), delayOf([], 4)]).toEqual([null, null]);
});

test('counts that no page can have give no delay', () => {
  expect([delayOf([-100, 200], 4), delayOf([Number.POSITIVE_INFINITY], 4)]).toEqual([null, null]);
});
