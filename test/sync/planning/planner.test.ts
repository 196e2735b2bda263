import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Candidate, changeRate, choose, urgency } from '../../../src/sync/planning/planner.ts';

const LARGE = 0.8;

function candidate(of: Partial<Candidate> & { id?: string } = {}): Candidate {
  const { id = '1', ...rest } = of;
  return {
    key: { list: 'conversations', inboxId: id },
    ageHours: 1,
    cost: 1,
    rate: 1,
    ...rest,
  };
}

const candidates = fc.array(
  fc.record({
    key: fc.record({
      list: fc.constantFrom('users', 'tags', 'conversations'),
      inboxId: fc.string({ minLength: 1, maxLength: 3 }),
    }),
    ageHours: fc.oneof(fc.double({ min: 0, max: 60, noNaN: true }), fc.constant(Number.POSITIVE_INFINITY)),
    cost: fc.integer({ min: 1, max: 200 }),
    rate: fc.double({ min: 0.001, max: 100, noNaN: true }),
  }),
  { maxLength: 30 },
);

describe('changed rows an hour', () => {
  test('are the usual figure for the kind of list while no sweep is known', () => {
    expect(changeRate('conversations', [])).toBe(4);
    expect(changeRate('users', [])).toBeCloseTo(0.2 / 24);
  });

  test('approach the observed figure, with more weight on recent sweeps', () => {
    const seen = (hoursAgo: number, changes: number) => ({ changes, hours: 1, hoursAgo });
    const week = Array.from({ length: 168 }, (_, hour) => seen(hour, 10));
    expect(changeRate('conversations', week)).toBeGreaterThan(9.8);
    expect(changeRate('conversations', week)).toBeLessThan(10);
    const calmedDown = Array.from({ length: 336 }, (_, hour) => seen(hour, hour < 168 ? 0 : 10));
    // With weights of e^(-hours/168), the calm week has 1 - 1/e of the two weeks' 1 - 1/e².
    expect(changeRate('conversations', calmedDown)).toBeCloseTo(
      10 * (1 - (1 - Math.exp(-1)) / (1 - Math.exp(-2))),
      1,
    );
  });

  test('are never zero, even for a list that never changed', () => {
    expect(changeRate('tags', [{ changes: 0, hours: 10_000, hoursAgo: 0 }])).toBeGreaterThan(0);
  });
});

describe('the index', () => {
  test('is w (T - (1 - exp(-l T)) / l) / k', () => {
    const expected = (6 - (1 - Math.exp(-0.5 * 6)) / 0.5) / 3;
    expect(urgency(candidate({ ageHours: 6, rate: 0.5, cost: 3 }))).toBeCloseTo(expected, 12);
    expect(
      urgency({ ...candidate({ ageHours: 6, rate: 0.5, cost: 3 }), key: { list: 'inboxes', inboxId: null } }),
    ).toBeCloseTo(2 * expected, 12);
  });

  test('grows with age and change rate, and falls with cost', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.1, max: 23, noNaN: true }),
        fc.double({ min: 0.01, max: 50, noNaN: true }),
        fc.integer({ min: 1, max: 500 }),
        (ageHours, rate, cost) => {
          const index = urgency(candidate({ ageHours, rate, cost }));
          expect(index).toBeGreaterThan(0);
          expect(urgency(candidate({ ageHours: ageHours * 1.01, rate, cost }))).toBeGreaterThan(index);
          expect(urgency(candidate({ ageHours, rate: rate * 1.01, cost }))).toBeGreaterThan(index);
          expect(urgency(candidate({ ageHours, rate, cost: cost + 1 }))).toBeLessThan(index);
        },
      ),
    );
  });
});

describe('the planner', () => {
  test('starts all due lists in the order of the index if all of them fit', () => {
    fc.assert(
      fc.property(candidates, (due) => {
        const { start, waiting, shortfall } = choose(due, { left: 10_000, cap: 10_000 });
        expect([start.length, waiting.length, shortfall]).toEqual([due.length, 0, 0]);
        const indices = start.map(urgency);
        expect(indices).toEqual(indices.toSorted((a, b) => (a === b ? 0 : b - a)));
      }),
    );
  });

  test('spends no more than is left, except on a list too large for any day', () => {
    fc.assert(
      fc.property(
        candidates,
        fc.integer({ min: -20, max: 300 }),
        fc.integer({ min: 1, max: 300 }),
        (due, left, cap) => {
          const { start, waiting, shortfall } = choose(due, { left, cap });
          expect(start.length + waiting.length).toBe(due.length);
          const large = start.findIndex(({ cost }) => cost > LARGE * cap);
          const fits = large < 0 ? start : start.slice(0, large);
          expect(fits.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(Math.max(0, left));
          // A started list that is too large gets all that is left: no list starts after it.
          if (large >= 0 && start[large]!.cost > left) expect(start).toHaveLength(large + 1);
          expect(shortfall > 0).toBe(waiting.length > 0);
        },
      ),
    );
  });

  test('starts lists never read first, then those beyond their age, the oldest first', () => {
    const [young, old, older, never] = [
      candidate({ id: 'young', ageHours: 5, rate: 100 }),
      candidate({ id: 'old', ageHours: 25 }),
      candidate({ id: 'older', ageHours: 40, cost: 50 }),
      candidate({ id: 'never', ageHours: Number.POSITIVE_INFINITY, cost: 90 }),
    ];
    expect(choose([young, old, older, never], { left: 1000, cap: 1000 }).start).toEqual([
      never,
      older,
      old,
      young,
    ]);
  });

  test('starts only much smaller lists behind a waiting list, and none behind an overdue one', () => {
    const waits = candidate({ id: 'waits', ageHours: 10, cost: 150, rate: 1000 });
    const small = candidate({ id: 'small', ageHours: 0.01, cost: 3, rate: 0.1 });
    const middling = candidate({ id: 'middling', ageHours: 0.01, cost: 4, rate: 0.1 });
    const limits = { left: 100, cap: 200 };
    expect(choose([waits, small, middling], limits)).toMatchObject({
      start: [small],
      waiting: [waits, middling],
      shortfall: 50,
    });
    expect(choose([{ ...waits, ageHours: 24 }, small, middling], limits)).toMatchObject({
      start: [],
      shortfall: 50,
    });
  });

  test('starts a list too large for any day once half of the day budget is free', () => {
    const large = candidate({ cost: 1000 });
    expect(choose([large], { left: 49, cap: 100 })).toMatchObject({ start: [], shortfall: 1 });
    expect(choose([large], { left: 50, cap: 100 })).toMatchObject({ start: [large], shortfall: 0 });
  });

  test('starves no list in the long run, whatever its cost and its change rate', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            cost: fc.integer({ min: 1, max: 70 }),
            rate: fc.double({ min: 0.001, max: 50, noNaN: true }),
          }),
          {
            minLength: 2,
            maxLength: 12,
          },
        ),
        (lists) => {
          const cap = 100;
          const readAt = lists.map(() => 0);
          const spent: { hour: number; cost: number }[] = [];
          const demand = lists.reduce((sum, { cost }) => sum + cost, 0);
          let worst = 0;
          const hours = 24 * Math.ceil((6 * demand) / cap) + 200;
          for (let hour = 1; hour < hours; hour += 1) {
            while ((spent[0]?.hour ?? hour) <= hour - 24) spent.shift();
            const left = cap - spent.reduce((sum, { cost }) => sum + cost, 0);
            const due = lists.map((list, index) =>
              candidate({ ...list, id: String(index), ageHours: hour - readAt[index]! }),
            );
            for (const { key, cost } of choose(due, { left, cap }).start) {
              readAt[Number(key.inboxId)] = hour;
              spent.push({ hour, cost });
            }
            worst = Math.max(worst, ...readAt.map((at) => hour - at));
          }
          // An overdue list waits only for older ones: at worst, all others are read once before it.
          expect(worst).toBeLessThanOrEqual(24 + 24 * (Math.ceil(demand / (cap - 70)) + 1));
        },
      ),
      { numRuns: 50 },
    );
  });
});
