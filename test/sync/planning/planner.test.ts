import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/core/clock.ts';
import type { ListKey } from '../../../src/core/lists.ts';
import { cronsOf } from '../../../src/sync/planning/cron.ts';
import {
  type Candidate,
  changeRate,
  inOrder,
  isSmall,
  mayBegin,
  urgency,
} from '../../../src/sync/planning/planner.ts';
import { type PlannedList, worstAges } from '../../../src/sync/planning/load/simulation.ts';

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
  test('is w l T² / 2k', () => {
    const list = candidate({ ageHours: 6, rate: 0.5, cost: 3 });
    expect(urgency(list)).toBeCloseTo((0.5 * 36) / 6, 12);
    expect(urgency({ ...list, key: { list: 'inboxes', inboxId: null } })).toBeCloseTo(2 * 3, 12);
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
  test('orders every due list by the index', () => {
    fc.assert(
      fc.property(candidates, (due) => {
        const ordered = inOrder(due);
        expect(new Set(ordered)).toEqual(new Set(due));
        const indices = ordered.map(urgency);
        expect(indices).toEqual(indices.toSorted((a, b) => (a === b ? 0 : b - a)));
      }),
    );
  });

  test('puts lists never read first, then those beyond their age, the oldest first', () => {
    const [young, old, older, never] = [
      candidate({ id: 'young', ageHours: 5, rate: 100 }),
      candidate({ id: 'old', ageHours: 25 }),
      candidate({ id: 'older', ageHours: 40, cost: 50 }),
      candidate({ id: 'never', ageHours: Number.POSITIVE_INFINITY, cost: 90 }),
    ];
    expect(inOrder([young, old, older, never])).toEqual([never, older, old, young]);
  });

  test('puts an hour-old list of inboxes of one request first, but no longer or younger one', () => {
    const overdue = candidate({ id: 'overdue', ageHours: 30 });
    const inboxes = (of: Partial<Candidate>): Candidate =>
      candidate({ key: { list: 'inboxes', inboxId: null }, rate: 0.004, ...of });
    const [due, young, long] = [
      inboxes({ ageHours: 1 }),
      inboxes({ ageHours: 0.9 }),
      inboxes({ ageHours: 5, cost: 2 }),
    ];
    expect(inOrder([overdue, due])).toEqual([due, overdue]);
    expect(inOrder([young, overdue])).toEqual([overdue, young]);
    expect(inOrder([long, overdue])).toEqual([overdue, long]);
    const worn = { ...due, turns: 1 };
    expect(inOrder<Candidate>([worn, overdue])).toEqual([overdue, worn]);
  });

  test('puts lists that have used up turns last, those with fewer turns first', () => {
    const [twice, once, young] = [
      { ...candidate({ id: 'twice', ageHours: Number.POSITIVE_INFINITY }), turns: 2 },
      { ...candidate({ id: 'once', ageHours: Number.POSITIVE_INFINITY }), turns: 1 },
      candidate({ id: 'young', ageHours: 1 }),
    ];
    expect(inOrder([twice, once, young])).toEqual([young, once, twice]);
  });

  test('keeps one place for lists that have used up a turn, and gives them no other', () => {
    const [small, large, worn] = [{ small: true }, { small: false }, { small: false, worn: true }];
    expect(mayBegin(worn, [large, large, large, large, small, small])).toBe(true);
    expect(mayBegin(worn, [worn])).toBe(false);
    expect(mayBegin(large, [worn, large, large, large])).toBe(true);
    expect(mayBegin(large, [worn, large, large, large, large])).toBe(false);
    expect(mayBegin(worn, [large], 1)).toBe(false);
    expect(mayBegin(large, [worn], 1)).toBe(false);
  });

  test('calls a list small if it was read before, costs 3 minutes of the pace, and has no conversations', () => {
    const budget = { perDay: 5000, reserved: 200 };
    const key = { list: 'tags', inboxId: '1' } as const;
    expect(isSmall({ key, ageHours: 1, cost: 10 }, budget)).toBe(true);
    expect(isSmall({ key, ageHours: 1, cost: 11 }, budget)).toBe(false);
    expect(isSmall({ key, ageHours: Number.POSITIVE_INFINITY, cost: 1 }, budget)).toBe(false);
    expect(isSmall({ key, ageHours: 1, cost: 1 }, { perDay: 24, reserved: 0 })).toBe(true);
    expect(isSmall(candidate({ ageHours: 1, cost: 1 }), budget)).toBe(false);
  });

  test('keeps two places for small lists beside four others, and only one place in an outage', () => {
    const [small, large] = [{ small: true }, { small: false }];
    expect(mayBegin(large, [large, large, large])).toBe(true);
    expect(mayBegin(large, [large, large, large, large])).toBe(false);
    expect(mayBegin(small, [large, large, large, large, small])).toBe(true);
    expect(mayBegin(large, [large, small, small, small, small, small])).toBe(false);
    expect(mayBegin(small, [small, small, small, small, small, small])).toBe(false);
    expect(mayBegin(small, [], 1)).toBe(true);
    expect(mayBegin(small, [large], 1)).toBe(false);
  });
});

describe('over days at an even pace', () => {
  const NOON = Date.parse('2026-03-02T12:00:00Z');
  const budget = { perSecond: 1, perDay: 480, reserved: 0, pageSize: 100 };
  const often = { inboxes: '0 * * * *', users: '0 * * * *', tags: '0 * * * *', conversations: '0 * * * *' };
  const crons = cronsOf(often, 'UTC');
  const list = (key: ListKey, cost: number, rate: number): PlannedList => ({ key, cost, rate });

  test('lists of one request never wait for hours behind lists of many', () => {
    const large = Array.from({ length: 8 }, (_, nth) =>
      list({ list: 'conversations', inboxId: String(nth) }, 300, 50),
    );
    const inboxes = list({ list: 'inboxes', inboxId: null }, 1, 0.004);
    const ages = worstAges([...large, inboxes], crons, budget, NOON);
    expect(ages.inboxes).toBeLessThanOrEqual(90 * MINUTE);
    // The large ones cost 5 days of the budget. An overdue one waits until the seven others are read.
    expect(ages.conversations).toBeGreaterThan(4 * DAY);
    expect(ages.conversations).toBeLessThanOrEqual(6 * DAY);
  });

  test('the list of inboxes is read in time beside the short conversations of many inboxes', () => {
    const conversations = Array.from({ length: 100 }, (_, nth) =>
      list({ list: 'conversations', inboxId: String(nth) }, 1, 50),
    );
    const inboxes = list({ list: 'inboxes', inboxId: null }, 1, 0.004);
    const ages = worstAges([...conversations, inboxes], crons, budget, NOON);
    expect(ages.inboxes).toBeLessThanOrEqual(90 * MINUTE);
    expect(ages.conversations).toBeLessThanOrEqual(7 * HOUR);
  });

  test('the list of inboxes is read in time while the daily lists of many inboxes are overdue', () => {
    const users = Array.from({ length: 100 }, (_, nth) =>
      list({ list: 'users', inboxId: String(nth) }, 1, 0.01),
    );
    const inboxes = list({ list: 'inboxes', inboxId: null }, 1, 0.004);
    const daily = { ...crons, users: cronsOf({ ...often, users: '0 2 * * *' }, 'UTC').users };
    expect(worstAges([...users, inboxes], daily, budget, NOON).inboxes).toBeLessThanOrEqual(90 * MINUTE);
  });

  test('the first two days do not count, because in them all lists begin at once', () => {
    const large = Array.from({ length: 3 }, (_, nth) =>
      list({ list: 'conversations', inboxId: String(nth) }, 150, 50),
    );
    const sixHourly = cronsOf({ ...often, conversations: '0 */6 * * *' }, 'UTC');
    expect(worstAges(large, sixHourly, budget, NOON).conversations).toBe(22.5 * HOUR);
  });

  test('thousands of lists are estimated: their simulation would stop the daemon', () => {
    const lists = Array.from({ length: 30_000 }, (_, nth) =>
      list({ list: 'users', inboxId: String(nth) }, 1, 1),
    );
    let slots = 0;
    const users = {
      next: (after: number) => {
        slots += 1;
        return crons.users.next(after);
      },
    };
    const ages = worstAges(lists, { ...crons, users: users as typeof crons.users }, budget, NOON);
    expect(ages.users).toBeGreaterThan((30_000 / (24 * 20)) * DAY - 1);
    expect(slots).toBeLessThan(10);
  });

  test('no list starves, whatever its cost and its change rate', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            cost: fc.integer({ min: 1, max: 60 }),
            rate: fc.double({ min: 0.001, max: 50, noNaN: true }),
          }),
          { minLength: 2, maxLength: 12 },
        ),
        (lists) => {
          const planned = lists.map(({ cost, rate }, nth) =>
            list({ list: 'conversations', inboxId: String(nth) }, cost, rate),
          );
          const { conversations } = worstAges(planned, crons, budget, NOON);
          const walkHours = lists.reduce((sum, { cost }) => sum + cost, 0) / 20;
          // An overdue list waits for a place, and then shares the pace with five others.
          expect(conversations / HOUR).toBeLessThanOrEqual(24 + 2 * walkHours + 2);
        },
      ),
      { numRuns: 30 },
    );
  });
});
