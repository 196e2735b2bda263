import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../../src/core/clock.ts';
import type { StoredRate } from '../../../../src/mirror/bookmarks/rates.ts';
import { AGES, KINDS, NEVER, kindOf } from '../../../../src/mirror/mirror.ts';
import { Rates } from '../../../../src/sync/planning/pages/rates.ts';
import { Timeline } from '../../../../src/sync/planning/pages/timeline.ts';
import {
  expectedChanges,
  expectedRows,
  learnFrom,
  type PageView,
  valueOf,
} from '../../../../src/sync/planning/pages/value.ts';

const NOW = Date.parse('2026-11-19T12:00:00Z');
const OPEN_NEVER = AGES + NEVER;

/** A page of 100 open conversations that were never seen to change. */
function pageOf(more: Partial<PageView> = {}): PageView {
  const kinds = Array.from({ length: KINDS }, () => 0);
  kinds[OPEN_NEVER] = 100;
  return { inboxId: '1', kinds, readAt: NOW - HOUR, depth: 'new', isEnd: false, ...more };
}

const instants = fc.integer({ min: 0, max: 20 * 24 * 60 }).map((minutes) => NOW - minutes * MINUTE);
const intensity = fc.array(fc.double({ min: 0.02, max: 5, noNaN: true }), { minLength: 168, maxLength: 168 });

describe('the timeline', () => {
  test('adds up: what lies between two instants is the sum of its parts', () => {
    fc.assert(
      fc.property(intensity, instants, instants, instants, (profile, ...at) => {
        const [a, b, c] = at.sort((x, y) => x - y);
        const line = new Timeline(NOW, 'UTC', profile);
        expect(line.activeHours(a, b) + line.activeHours(b, c)).toBeCloseTo(line.activeHours(a, c), 6);
        const parts = line.waitingHours(a, b, NOW) + line.waitingHours(b, c, NOW);
        expect(parts).toBeCloseTo(line.waitingHours(a, c, NOW), 4);
      }),
    );
  });

  test('lets one change an hour wait T²/2 in T hours at mean activity, and a tenth of that at a tenth', () => {
    const flat = new Timeline(NOW);
    expect(flat.waitingHours(NOW - 6 * HOUR, NOW, NOW)).toBeCloseTo(18, 6);
    const quiet = new Timeline(
      NOW,
      'UTC',
      Array.from({ length: 168 }, () => 0.1),
    );
    expect(quiet.waitingHours(NOW - 6 * HOUR, NOW, NOW)).toBeCloseTo(1.8, 6);
  });

  test('continues after the day on which it was made', () => {
    const line = new Timeline(NOW);
    expect(line.activeHours(NOW, NOW + 3 * DAY)).toBeCloseTo(72, 6);
  });
});

test('an hour in which nothing changes does not make the rows that change least seem dead', () => {
  const rates = new Rates();
  const before = rates.ofKind(OPEN_NEVER, 'old');
  rates.learnKind(OPEN_NEVER, 'old', { events: 0, hours: 1300 }, NOW);
  expect(rates.ofKind(OPEN_NEVER, 'old')).toBeGreaterThan(before / 2);
  rates.learnKind(OPEN_NEVER, 'old', { events: 0, hours: 100_000 }, NOW);
  expect(rates.ofKind(OPEN_NEVER, 'old')).toBeLessThan(before / 50);
});

describe('the value of a reading', () => {
  const timeline = new Timeline(NOW + DAY);

  test('is the rate times T²/2 for rows of a constant rate', () => {
    const rates = new Rates();
    const rate = 100 * rates.ofKind(OPEN_NEVER, 'new');
    for (const hours of [0.1, 1, 7, 24]) {
      const page = pageOf({ readAt: NOW - hours * HOUR });
      expect(valueOf(page, { rates, timeline, now: NOW })).toBeCloseTo((rate * hours ** 2) / 2, 6);
      expect(expectedChanges(page, { rates, timeline, now: NOW })).toBeCloseTo(rate * hours, 6);
    }
  });

  test('never expects more changed rows than the page has, nor more than there are changes', () => {
    for (const hours of [0.01, 1, 24, 500]) {
      const page = pageOf({ readAt: NOW - hours * HOUR });
      const rows = page.kinds.reduce((sum, count) => sum + count, 0);
      const moment = { rates: new Rates(), timeline, now: NOW };
      const expected = expectedRows(page, moment);
      expect(expected).toBeGreaterThan(0);
      expect(expected).toBeLessThanOrEqual(Math.min(rows, expectedChanges(page, moment)));
    }
  });

  test('grows with time, with more rows and with new rows that may have come', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(50), { minLength: KINDS, maxLength: KINDS }),
        fc.nat(KINDS - 1),
        fc.integer({ min: 1, max: 3 * 24 * 60 }),
        (kinds, more, minutes) => {
          const moment = { rates: new Rates(), timeline, now: NOW };
          const page = pageOf({ kinds, readAt: NOW - minutes * MINUTE });
          const value = valueOf(page, moment);
          expect(value).toBeGreaterThanOrEqual(0);
          const older = valueOf({ ...page, readAt: page.readAt - HOUR }, moment);
          expect(older).toBeGreaterThanOrEqual(value);
          const fuller = kinds.map((rows, kind) => (kind === more ? rows + 1 : rows));
          expect(valueOf({ ...page, kinds: fuller }, moment)).toBeGreaterThan(value);
          expect(valueOf({ ...page, isEnd: true }, moment)).toBeGreaterThan(value);
        },
      ),
    );
  });

  test('is great for a row that has just changed, and less as the row ages without a change', () => {
    const moment = { rates: new Rates(), timeline, now: NOW };
    const of = (kind: number): number => {
      const kinds = Array.from({ length: KINDS }, (_, index) => (index === kind ? 1 : 0));
      return valueOf(pageOf({ kinds }), moment);
    };
    for (let age = 1; age < NEVER; age += 1) expect(of(AGES + age)).toBeLessThan(of(AGES + age - 1));
    expect(of(0), 'a closed one changes less often').toBeLessThan(of(AGES));
  });
});

describe('the rates', () => {
  const timelines = new Map<number, Timeline>();

  function timelineAt(now: number): Timeline {
    const known = timelines.get(now) ?? new Timeline(now);
    timelines.set(now, known);
    return known;
  }

  /** A reading an hour after the one before: so many of 100 old rows show so many changes each. */
  function observe(rates: Rates, changed: number, now: number, each = 1): void {
    const before = Array.from({ length: 100 }, (_, index) => ({
      id: String(index),
      isFinal: false,
      changedAt: now - 30 * DAY,
      firstSeenAt: now - 30 * DAY,
    }));
    const changes = new Map(before.slice(0, changed).map(({ id }) => [id, each]));
    const view = pageOf({ readAt: now - HOUR });
    const moment = { timeline: timelineAt(now), now };
    learnFrom(rates, { view, baselineAt: now, before, changes, inserted: 0 }, moment);
  }

  test('of a closed conversation begin at a quarter of those of an open one', () => {
    const rates = new Rates();
    for (let age = 0; age < AGES; age += 1)
      expect(rates.ofKind(age, 'new') / rates.ofKind(AGES + age, 'new')).toBeCloseTo(0.25, 9);
  });

  test('become what was seen, whatever they were before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), (changed) => {
        const rates = new Rates();
        for (let hour = 0; hour < 120; hour += 1) observe(rates, changed, NOW + hour * HOUR);
        // A row that changed was watched for half an hour on average.
        const seen = changed / (100 - changed / 2);
        expect(rates.ofKind(OPEN_NEVER, 'new') / seen).toBeGreaterThan(0.9);
        expect(rates.ofKind(OPEN_NEVER, 'new') / seen).toBeLessThan(1.1);
      }),
      { numRuns: 20 },
    );
  });

  test('count each change of a row that shows several', () => {
    const [once, thrice] = [new Rates(), new Rates()];
    for (let hour = 0; hour < 120; hour += 1) {
      observe(once, 5, NOW + hour * HOUR);
      observe(thrice, 5, NOW + hour * HOUR, 3);
    }
    const ratio = thrice.ofKind(OPEN_NEVER, 'new') / once.ofKind(OPEN_NEVER, 'new');
    expect(ratio).toBeGreaterThan(2.8);
    expect(ratio).toBeLessThan(3.01);
  });

  test('count a change at the age that its row had halfway between the readings', () => {
    const rates = new Rates();
    const view = pageOf({ readAt: NOW - 3 * HOUR });
    const changedAt = view.readAt - 10 * MINUTE;
    const row = { id: '1', isFinal: false, changedAt, firstSeenAt: NOW - 30 * DAY };
    const changes = new Map([['1', 1]]);
    const before = new Rates();
    learnFrom(
      rates,
      { view, baselineAt: 0, before: [row], changes, inserted: 0 },
      { timeline: timelineAt(NOW), now: NOW },
    );
    // 10 minutes and one and a half hours: older than an hour, younger than four.
    const ratios = [0, 1, 2].map((age) => rates.ofKind(AGES + age, 'new') / before.ofKind(AGES + age, 'new'));
    expect(ratios.map((ratio) => ratio > 1)).toEqual([false, false, true]);
  });

  test('of new rows are those of the growing end alone', () => {
    const arrivals = (isEnd: boolean): number => {
      const rates = new Rates();
      const view = pageOf({ readAt: NOW - 20 * HOUR, isEnd });
      learnFrom(
        rates,
        { view, baselineAt: 0, before: [], changes: new Map(), inserted: 200 },
        { timeline: timelineAt(NOW), now: NOW },
      );
      return rates.arrivals('1');
    };
    expect(arrivals(true)).toBeCloseTo(201 / 24);
    expect(arrivals(false)).toBe(new Rates().arrivals('1'));
  });

  test('bring nothing to a page that a clock that was ahead has read in the future', () => {
    const view = pageOf({ readAt: NOW + 30 * HOUR, isEnd: true });
    const moment = { rates: new Rates(), timeline: timelineAt(NOW), now: NOW };
    expect([expectedChanges(view, moment), expectedRows(view, moment)]).toEqual([0, 0]);
  });

  test('learn nothing from a page or a row whose last reading or change lies in the future', () => {
    const row = { id: '1', isFinal: false, changedAt: NOW - 2 * DAY, firstSeenAt: NOW - 9 * DAY };
    const learned = (readAt: number, changedAt: number): StoredRate[] => {
      const [rates, view] = [new Rates(), pageOf({ readAt, isEnd: true })];
      const before = [row, { ...row, id: '2', changedAt }];
      const changes = new Map([['2', 1]]);
      const observed = { view, baselineAt: NOW - DAY, before, changes, inserted: 1 };
      learnFrom(rates, observed, { timeline: timelineAt(NOW), now: NOW });
      return rates.unsaved();
    };
    expect(learned(NOW - HOUR, NOW + 30 * HOUR).map(({ name }) => name)).toEqual([
      `kind/${AGES + 4}/new`,
      'arrivals/1',
    ]);
    expect(learned(NOW + HOUR, NOW - 3 * DAY)).toEqual([]);
  });

  test('of an earlier version that are negative, because its clock was set back, are learned again', () => {
    const stored = { name: `kind/${OPEN_NEVER}/new`, events: 9, hours: -4738, updatedAt: NOW - HOUR };
    expect(new Rates([stored]).ofKind(OPEN_NEVER, 'new')).toBe(new Rates().ofKind(OPEN_NEVER, 'new'));
  });

  test.each([Number.POSITIVE_INFINITY, Number.NaN, 1e308])('of %s hours are learned again', (hours) => {
    const stored = { name: `kind/${OPEN_NEVER}/new`, events: hours, hours, updatedAt: NOW - HOUR };
    expect(new Rates([stored]).ofKind(OPEN_NEVER, 'new')).toBe(new Rates().ofKind(OPEN_NEVER, 'new'));
  });

  test('a change that a clock ahead has dated in the future counts as an old one, not as a new one', () => {
    const row = { id: '1', isFinal: false, changedAt: NOW + 400 * DAY, firstSeenAt: NOW - DAY };
    const old = { ...row, changedAt: NOW - 30 * DAY, firstSeenAt: NOW - 40 * DAY };
    const moment = { at: NOW, baselineAt: NOW - 50 * DAY };
    expect(kindOf(row, moment)).toBe(kindOf(old, moment));
    expect(kindOf({ ...row, changedAt: NOW + 1000 }, moment)).toBe(AGES);
  });

  test('survive a restart, and forget within weeks', () => {
    const rates = new Rates();
    for (let hour = 0; hour < 100; hour += 1) observe(rates, 10, NOW + hour * HOUR);
    const stored = rates.unsaved();
    const again = new Rates(stored);
    expect(again.ofKind(OPEN_NEVER, 'new')).toBe(rates.ofKind(OPEN_NEVER, 'new'));
    expect(rates.unsaved()).toEqual([]);
    const soon = new Rates(stored);
    for (let hour = 0; hour < 100; hour += 1) observe(soon, 0, NOW + 11 * DAY + hour * HOUR);
    expect(soon.ofKind(OPEN_NEVER, 'new')).toBeGreaterThan(0.3 * rates.ofKind(OPEN_NEVER, 'new'));
    for (let hour = 0; hour < 100; hour += 1) observe(again, 0, NOW + 39 * DAY + hour * HOUR);
    expect(again.ofKind(OPEN_NEVER, 'new')).toBeLessThan(0.2 * rates.ofKind(OPEN_NEVER, 'new'));
  });
});
