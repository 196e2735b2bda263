import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scheduledCap } from '../../../../src/core/budget.ts';
import { DAY, HOUR, MINUTE } from '../../../../src/core/clock.ts';
import type { StoredBookmark } from '../../../../src/mirror/bookmarks/bookmarks.ts';
import { AGES, KINDS, NEVER } from '../../../../src/mirror/mirror.ts';
import { type Cover, coverOf, daysOfCover, PagePlan } from '../../../../src/sync/planning/pages/plan.ts';
import { Rates } from '../../../../src/sync/planning/pages/rates.ts';
import { Timeline } from '../../../../src/sync/planning/pages/timeline.ts';
import { requestsBetween } from '../../../../src/sync/planning/week/profile.ts';

const NOW = Date.parse('2026-11-19T03:00:00Z');
const BUDGET = { perDay: 500, reserved: 20 };
const NOBODY = (): boolean => false;

/** Requests until an instant, at an even pace. */
const evenly =
  (now: number) =>
  (until: number): number =>
    (scheduledCap(BUDGET) * (until - now)) / DAY;

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
      const cover: Cover = [{ since: NOW, deadline: NOW + DAY }];
      const moment = { rates: new Rates(), timeline: new Timeline(NOW + DAY) };
      let newest = 0;
      for (let nth = 1; nth <= 480; nth += 1) {
        const now = NOW + (nth * DAY) / 480;
        const next = plan.next({ ...moment, now }, cover, evenly(now), NOBODY);
        newest += next!.page.isEnd ? 1 : 0;
        plan.touch(next!.page, now);
      }
      expect(plan.all().filter(({ readAt }) => readAt < NOW)).toEqual([]);
      expect(newest).toBeGreaterThan(480 / 8);
    }),
    { numRuns: 30 },
  );
});

test('pages that were not read yet get half of the readings, however little else is due', () => {
  const list = listOf('1', 3, NOW - MINUTE);
  const plan = new PagePlan();
  const moment = { rates: new Rates(), timeline: new Timeline(NOW + DAY) };
  const cover: Cover = [{ since: NOW - HOUR, deadline: NOW + DAY }];
  let unread = 0;
  for (let nth = 1; nth <= 20; nth += 1) {
    const now = NOW + nth * MINUTE;
    // Behind each page that was read is another one.
    const second = { ...list[1]!, afterId: String(1100 + unread), kinds: [] };
    plan.replace('1', [list[0]!, second, list[2]!]);
    unread += plan.next({ ...moment, now }, cover, evenly(now), NOBODY)!.page.isUnread ? 1 : 0;
  }
  expect(unread).toBe(10);
});

test('a page that stays unread, because its answers are cut, is chosen seldom', () => {
  const plan = planOf(
    listOf('1', 3, NOW - MINUTE).map((page, nth) => (nth === 1 ? { ...page, kinds: [] } : page)),
  );
  const moment = { rates: new Rates(), timeline: new Timeline(NOW + 3 * DAY) };
  let unread = 0;
  for (let nth = 1; nth <= 480; nth += 1) {
    const now = NOW + nth * 5 * MINUTE;
    const { page } = plan.next({ ...moment, now }, null, evenly(now), NOBODY)!;
    if (page.isUnread) unread += 1;
    else plan.touch(page, now);
  }
  expect(unread).toBeGreaterThan(3);
  expect(unread).toBeLessThan(8);
});

test('over three days every page is read in time, however little it is worth', () => {
  const [size, aDay] = [130, 120];
  const plan = planOf(listOf('1', size, NOW - 1));
  const rates = new Rates();
  for (let kind = 0; kind < KINDS; kind += 1) rates.learnKind(kind, 'old', { events: 0, hours: 1e9 }, NOW);
  const timeline = new Timeline(NOW + 8 * DAY);
  const budget = { perDay: aDay, reserved: 0 };
  const first = { schedule: 0, value: 0 };
  for (let day = 0; day < 5; day += 1) {
    const [dueSince, nextAt] = [new Date(NOW + day * DAY), new Date(NOW + (day + 1) * DAY)];
    const schedules = [{ list: 'conversations', dueSince, nextAt } as const];
    const { cover, days } = coverOf(schedules, size, { budget, stretches: true, now: dueSince.getTime() });
    expect(days).toBe(3);
    for (let nth = 1; nth <= aDay; nth += 1) {
      const now = NOW + day * DAY + (nth * DAY) / aDay;
      const requestsUntil = (until: number): number => (aDay * (until - now)) / DAY;
      const { page, why } = plan.next({ rates, timeline, now }, cover, requestsUntil, NOBODY)!;
      plan.touch(page, now);
      if (day === 0) first[why] += 1;
    }
    const oldest = Math.min(...plan.all().map(({ readAt }) => readAt));
    expect(oldest, `day ${day}`).toBeGreaterThanOrEqual(nextAt.getTime() - days * DAY - 1);
  }
  expect(first.schedule, 'the schedule waits while it can').toBeLessThan(aDay / 6);
});

test('a weekly schedule lets no page wait longer than a day', () => {
  const schedules = [
    { list: 'conversations', dueSince: new Date(NOW), nextAt: new Date(NOW + 7 * DAY) } as const,
  ];
  const options = { budget: BUDGET, stretches: false };
  const coverAt = (now: number) => coverOf(schedules, 100, { ...options, now }).cover;
  expect(coverAt(NOW + HOUR)).toEqual([{ since: NOW, deadline: NOW + DAY }]);
  expect(coverAt(NOW + 3.5 * DAY)).toEqual([{ since: NOW + 3 * DAY, deadline: NOW + 4 * DAY }]);
  expect(coverAt(NOW - HOUR), 'a clock that was set back').toEqual([{ since: NOW, deadline: NOW + DAY }]);
  // More pages than half of a day's requests: over two days.
  expect(coverOf(schedules, 300, { ...options, now: NOW + 3.5 * DAY })).toEqual({
    days: 2,
    cover: [
      { since: NOW + 2 * DAY, deadline: NOW + 4 * DAY },
      { since: NOW + 3 * DAY, deadline: NOW + 5 * DAY },
    ],
  });
});

test('the last hour of a day of 25 hours wants no page a second time', () => {
  const coverAt = (nextAt: number, now: number) => {
    const schedules = [{ list: 'conversations', dueSince: new Date(NOW), nextAt: new Date(nextAt) } as const];
    return coverOf(schedules, 100, { budget: BUDGET, stretches: false, now }).cover;
  };
  const [daily, weekly] = [NOW + 25 * HOUR, NOW + 7 * DAY + HOUR];
  expect(coverAt(daily, NOW + HOUR)).toEqual([{ since: NOW, deadline: daily }]);
  expect(coverAt(daily, NOW + 24.5 * HOUR)).toEqual([{ since: NOW, deadline: daily }]);
  expect(coverAt(weekly, weekly - MINUTE)).toEqual([{ since: NOW + 6 * DAY, deadline: weekly }]);
  // Slots 36 hours apart: a page waits for a day at most.
  const rare = NOW + 1.5 * DAY;
  expect(coverAt(rare, NOW + HOUR)).toEqual([{ since: NOW, deadline: NOW + DAY }]);
  expect(coverAt(rare, NOW + 25 * HOUR)).toEqual([{ since: NOW + DAY, deadline: rare }]);
});

test('a schedule of every six hours wants every page before its next slot', () => {
  const nextAt = new Date(NOW + 6 * HOUR);
  const schedules = [{ list: 'conversations', dueSince: new Date(NOW), nextAt } as const];
  const { cover } = coverOf(schedules, 100, { budget: BUDGET, stretches: false, now: NOW + HOUR });
  expect(cover).toEqual([{ since: NOW, deadline: nextAt.getTime() }]);
});

test('the schedule leaves a fifth of the requests until its deadline to other lists', () => {
  const moment = { rates: new Rates(), timeline: new Timeline(NOW), now: NOW + 1 };
  const cover: Cover = [{ since: NOW, deadline: NOW + HOUR }];
  const firstWhy = (pages: number): string =>
    planOf(listOf('1', pages, NOW - DAY)).next(moment, cover, () => 10, NOBODY)!.why;
  expect([firstWhy(7), firstWhy(8)]).toEqual(['value', 'schedule']);
});

test('the newest page of a list is at its growing end, in either direction', () => {
  const ascending = listOf('1', 3, NOW);
  const descending = ascending.map((bookmark) => ({ ...bookmark, direction: 'desc' as const }));
  const newest = (list: StoredBookmark[]): string[] =>
    planOf(list)
      .all()
      .filter(({ isEnd }) => isEnd)
      .map(({ bookmark }) => bookmark.afterId);
  expect(newest(ascending)).toEqual([ascending.at(-1)!.afterId]);
  expect(newest(descending)).toEqual([descending[0]!.afterId]);
});

test('the schedule takes the hours in which little changes, and still reads every page', () => {
  const isNight = (hour: number): boolean => hour < 8 || hour >= 20;
  const intensity = Array.from({ length: 7 * 24 }, (_, hour) => (isNight(hour % 24) ? 0.002 : 1.998));
  const plan = planOf(listOf('1', 120, NOW - HOUR));
  const rates = new Rates();
  for (let kind = 0; kind < KINDS; kind += 1) rates.learnKind(kind, 'old', { events: 0, hours: 1e6 }, NOW);
  const cover: Cover = [{ since: NOW, deadline: NOW + DAY }];
  const moment = { rates, timeline: new Timeline(NOW + DAY, 'UTC', intensity) };
  const profile = intensity.map((activity) => (activity < 1 ? 1 / 3.5 : 6 / 3.5));
  const requestsFrom =
    (from: number) =>
    (to: number): number =>
      requestsBetween(profile, 'UTC', { from, to, aDay: 420 });
  const chosen = { night: { schedule: 0, value: 0 }, day: { schedule: 0, value: 0 } };
  // The pace of each hour: few requests at night. The first day teaches what a page is usually worth.
  for (let minute = 0; minute < 2 * 1440; minute += 1) {
    const now = NOW + minute * 60_000;
    const night = isNight(new Date(now).getUTCHours());
    if (minute % (night ? 12 : 2) !== 0) continue;
    const slot: Cover = minute < 1440 ? cover : [{ since: NOW + DAY, deadline: NOW + 2 * DAY }];
    const { page, why } = plan.next({ ...moment, now }, slot, requestsFrom(now), NOBODY)!;
    plan.touch(page, now);
    if (minute >= 1440) chosen[night ? 'night' : 'day'][why] += 1;
  }
  expect(plan.all().filter(({ readAt }) => readAt < NOW + DAY)).toEqual([]);
  const share = ({ schedule, value }: { schedule: number; value: number }): number =>
    schedule / (schedule + value);
  expect(share(chosen.night)).toBeGreaterThan(2 * share(chosen.day));
});

test('a schedule that asks for more than the budget gets every request, the oldest page first', () => {
  const plan = planOf(listOf('1', 50, NOW - DAY), listOf('2', 50, NOW - 2 * DAY));
  const cover: Cover = [{ since: NOW, deadline: NOW + HOUR / 20 }];
  const moment = { rates: new Rates(), timeline: new Timeline(NOW), now: NOW + 1 };
  const inboxes = Array.from({ length: 100 }, () => {
    const { page, why } = plan.next(moment, cover, evenly(moment.now), NOBODY)!;
    plan.touch(page, moment.now);
    return `${why} ${page.inboxId}`;
  });
  expect([...new Set(inboxes.slice(0, 50))]).toEqual(['schedule 2']);
  expect([...new Set(inboxes.slice(50))]).toEqual(['schedule 1']);
});

describe('the schedule needs more requests than spare walks would leave', () => {
  const cover: Cover = [{ since: NOW, deadline: NOW + DAY }];
  const spread: Cover = [cover[0], { since: NOW + HOUR, deadline: NOW + 2 * DAY }];

  test('if its pages need more than a third of them', () => {
    for (const [pages, needsMost] of [
      [120, false],
      [140, true],
    ] as const) {
      const plan = planOf(listOf('1', pages, NOW - HOUR));
      expect(plan.needsMost(cover, evenly(NOW), NOBODY)).toBe(needsMost);
      expect(plan.needsMost(null, evenly(NOW), NOBODY), 'before the first slot').toBe(false);
    }
  });

  test('not for pages that can be read on a later day, or that were read', () => {
    const plan = planOf(listOf('1', 140, NOW + 1));
    expect(plan.needsMost(spread, evenly(NOW), NOBODY)).toBe(false);
  });

  test('not for pages that rest', () => {
    const plan = planOf(listOf('1', 140, NOW - HOUR), listOf('2', 100, NOW - HOUR));
    expect(plan.needsMost(cover, evenly(NOW), ({ inboxId }) => inboxId === '1')).toBe(false);
    expect(plan.needsMost(cover, evenly(NOW), ({ inboxId }) => inboxId === '2')).toBe(true);
  });
});

describe('walks of lists that were not read since their slot', () => {
  /** Of 100 requests for pages after the slot of a long day, those that walks get. */
  const left = (walks: number, pages: number): { walks: number; schedule: number; value: number } => {
    const plan = planOf(listOf('1', pages, NOW - HOUR));
    plan.leaveToWalks(walks);
    const chosen = { walks: 0, schedule: 0, value: 0 };
    const cover: Cover = [{ since: NOW, deadline: NOW + DAY }];
    const moment = { rates: new Rates(), timeline: new Timeline(NOW), now: NOW + 1 };
    for (let nth = 0; nth < 100; nth += 1)
      chosen[plan.next(moment, cover, evenly(NOW), NOBODY)?.why ?? 'walks'] += 1;
    return chosen;
  };

  test('get the share that they need of the requests for the pages of the greatest value', () => {
    expect(left(0, 1)).toEqual({ walks: 0, schedule: 0, value: 100 });
    expect(left(192, 1).walks).toBeCloseTo(50, -1);
    expect(left(9999, 1).walks, 'some are always left').toBeCloseTo(90, -1);
  });

  test('get none of those that the schedule needs', () => {
    const { walks, schedule } = left(192, 192);
    expect(schedule).toBe(left(0, 192).schedule);
    expect(walks).toBeCloseTo(25, -1);
  });
});

describe('what a page is usually worth', () => {
  const NEWEST = { rates: new Rates(), timeline: new Timeline(NOW + 9 * DAY) };
  /** Chooses the only page of a list this often, each time this many hours after its last reading. */
  const choose = (plan: PagePlan, times: number, hours: number): void => {
    for (let nth = 0; nth < times; nth += 1)
      plan.next({ ...NEWEST, now: NOW + hours * HOUR }, null, () => 1e9, NOBODY);
  };
  /** Why the page is chosen an hour after its last reading, if the schedule has time. */
  const whyAfterAnHour = (plan: PagePlan): string =>
    plan.next({ ...NEWEST, now: NOW + HOUR }, [{ since: NOW + 1, deadline: NOW + DAY }], () => 1e9, NOBODY)!
      .why;

  test('hardly moves by a few pages that are worth far more or less', () => {
    // The value grows with the square of the hours: ten thousand times as much, and as little.
    for (const hours of [100, 0.01]) {
      const plan = planOf(listOf('1', 1, NOW));
      choose(plan, 300, 1);
      choose(plan, 20, hours);
      choose(plan, 1, 0.7);
      expect(whyAfterAnHour(plan), `${hours} hours`).toBe('value');
    }
    const plan = planOf(listOf('1', 1, NOW));
    choose(plan, 300, 1.4);
    choose(plan, 20, 0.01);
    expect(whyAfterAnHour(plan), 'half of the usual value is still cheap').toBe('schedule');
  });

  test('is forgotten after some two hundred choices', () => {
    const plan = planOf(listOf('1', 1, NOW));
    choose(plan, 2000, 1);
    choose(plan, 200, 2);
    expect(whyAfterAnHour(plan)).toBe('schedule');
  });
});

test('a list that is being read otherwise is left out', () => {
  const plan = planOf(listOf('1', 3, NOW - DAY), listOf('2', 3, NOW - HOUR));
  const moment = { rates: new Rates(), timeline: new Timeline(NOW), now: NOW };
  expect(plan.next(moment, null, evenly(NOW), ({ inboxId }) => inboxId === '1')!.page.inboxId).toBe('2');
  expect(plan.next(moment, null, evenly(NOW), () => true)).toBeNull();
});

test('one reading of every page is spread over days as soon as it costs more than half of the budget', () => {
  expect([240, 241, 480, 481].map((pages) => daysOfCover(pages, BUDGET))).toEqual([1, 2, 2, 3]);
});
