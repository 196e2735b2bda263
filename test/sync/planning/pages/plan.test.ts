import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../../../src/core/clock.ts';
import type { StoredBookmark } from '../../../../src/mirror/bookmarks/bookmarks.ts';
import { AGES, KINDS, NEVER } from '../../../../src/mirror/mirror.ts';
import { daysOfCover, PagePlan } from '../../../../src/sync/planning/pages/plan.ts';
import { Rates } from '../../../../src/sync/planning/pages/rates.ts';
import { Timeline } from '../../../../src/sync/planning/pages/timeline.ts';

const NOW = Date.parse('2026-11-19T03:00:00Z');
const BUDGET = { perDay: 500, reserved: 20 };
const NOBODY = (): boolean => false;

/** A list of full pages, in ascending order: the last one is the newest. */
function listOf(inboxId: string, pages: number, readAt: number): StoredBookmark[] {
  const kinds = Array.from({ length: KINDS }, (_, kind) => (kind === AGES + NEVER ? 100 : 0));
  return Array.from({ length: pages }, (_, page) => ({
    inboxId,
    afterId: page === 0 ? '' : String(1000 + 100 * page),
    token: page === 0 ? null : `page ${page}`,
    direction: 'asc' as const,
    readAt,
    baselineAt: readAt,
    kinds,
  }));
}

function planOf(...lists: StoredBookmark[][]): PagePlan {
  const plan = new PagePlan();
  plan.load(new Map(lists.map((list) => [list[0]!.inboxId, list])));
  return plan;
}

test('a day of readings covers every page before the next slot, and most go to the newest pages', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 40 }), fc.integer({ min: 1, max: 100 }), (small, large) => {
      const plan = planOf(listOf('1', small, NOW - HOUR), listOf('2', large, NOW - HOUR));
      const cover = { since: NOW, deadline: NOW + DAY, roundSince: NOW };
      const moment = { rates: new Rates(), timeline: new Timeline(NOW + DAY) };
      let newest = 0;
      for (let nth = 1; nth <= 480; nth += 1) {
        const now = NOW + (nth * DAY) / 480;
        const next = plan.next({ ...moment, now }, cover, BUDGET, NOBODY);
        newest += next!.page.isEnd ? 1 : 0;
        plan.touch(next!.page, now);
      }
      expect(plan.all().filter(({ readAt }) => readAt < NOW)).toEqual([]);
      expect(newest).toBeGreaterThan(480 / 7);
    }),
    { numRuns: 30 },
  );
});

test('a schedule that asks for more than the budget gets every request, the oldest page first', () => {
  const plan = planOf(listOf('1', 50, NOW - DAY), listOf('2', 50, NOW - 2 * DAY));
  const cover = { since: NOW, deadline: NOW + HOUR / 20, roundSince: NOW };
  const moment = { rates: new Rates(), timeline: new Timeline(NOW), now: NOW + 1 };
  const inboxes = Array.from({ length: 100 }, () => {
    const { page, why } = plan.next(moment, cover, BUDGET, NOBODY)!;
    plan.touch(page, moment.now);
    return `${why} ${page.inboxId}`;
  });
  expect([...new Set(inboxes.slice(0, 50))]).toEqual(['schedule 2']);
  expect([...new Set(inboxes.slice(50))]).toEqual(['schedule 1']);
});

test('a list that is being read otherwise is left out', () => {
  const plan = planOf(listOf('1', 3, NOW - DAY), listOf('2', 3, NOW - HOUR));
  const moment = { rates: new Rates(), timeline: new Timeline(NOW), now: NOW };
  expect(plan.next(moment, null, BUDGET, ({ inboxId }) => inboxId === '1')!.page.inboxId).toBe('2');
  expect(plan.next(moment, null, BUDGET, () => true)).toBeNull();
});

test('one reading of every page is spread over days as soon as it costs more than half of the budget', () => {
  expect([240, 241, 480, 481].map((pages) => daysOfCover(pages, BUDGET))).toEqual([1, 2, 2, 3]);
});
