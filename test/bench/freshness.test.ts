import { describe, expect, test } from 'vitest';
import { ACCOUNTS, START } from '../../bench/freshness/account.ts';
import { boundOf } from '../../bench/freshness/bound.ts';
import { factsOf } from '../../bench/freshness/facts.ts';
import { SIMULATED, simulate } from '../../bench/freshness/policies.ts';
import { ratesOf } from '../../bench/freshness/rates.ts';
import { Staleness } from '../../bench/freshness/staleness.ts';
import { type Trace, traceOf, withPlaces } from '../../bench/freshness/trace.ts';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';

const BUDGET = { perSecond: 1, perDay: 5000, reserved: 250, pageSize: 100 };

/** One inbox of `pages` full pages. Each hour for four weeks one row changes, page after page. */
function evenTrace(pages: number): Trace {
  const changes = Array.from({ length: 28 * 24 }, (_, hour) => {
    const row = (hour % pages) * 100;
    return { at: START + hour * HOUR + HOUR / 2, inbox: 0, row, kind: 'tag' } as const;
  });
  return { sizes: [100 * pages], changes };
}

describe('the trace', () => {
  test('has the bursts, the places and the weekends of real logs, and the same seed repeats it', () => {
    const [, account] = ACCOUNTS;
    const trace = traceOf(account!, 1);
    const facts = factsOf(trace);
    expect(facts.shortGaps).toBeCloseTo(0.57, 1);
    expect(facts.newest5Percent).toBeCloseTo(0.88, 2);
    expect(facts.weekend).toBeLessThan(0.04);
    expect(facts.fano).toBeGreaterThan(10);
    expect(facts.fano).toBeLessThan(20);
    expect(traceOf(account!, 1).changes).toEqual(trace.changes);
    expect(traceOf(account!, 2).changes).not.toEqual(trace.changes);
  });

  test('changes a row only after it was opened', () => {
    for (const { rank } of withPlaces(traceOf(ACCOUNTS[0]!, 3))) expect(rank).toBeGreaterThanOrEqual(0);
  });
});

describe('the bound', () => {
  test('is half the time between two readings where all pages change alike', () => {
    const bound = boundOf(ratesOf(evenTrace(4)), { firstDay: 2, days: 5, budget: 480 });
    // 4 pages of a list share 480 requests a day: one reading of each in 12 minutes.
    expect(bound).toBeCloseTo(6, 5);
  });
});

describe('a simulated policy', () => {
  const measured = { from: START + 2 * DAY, until: START + 7 * DAY };
  const rates = ratesOf(evenTrace(198));

  test('that walks whole lists evenly makes a change wait for half a walk', () => {
    const policy = SIMULATED['whole lists, paced']!(BUDGET, rates);
    const { delays, unread, byHour } = simulate(policy, evenTrace(198), measured, START + 9 * DAY);
    const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
    expect(delays.length + unread).toBe(120);
    // 198 pages at 4,750 requests a day take an hour.
    expect(mean / MINUTE).toBeGreaterThan(25);
    expect(mean / MINUTE).toBeLessThan(35);
    expect(Math.max(...byHour) - Math.min(...byHour)).toBeLessThanOrEqual(1);
  });

  test('that sends as fast as allowed stays within the budget of any 24 hours', () => {
    const policy = SIMULATED['whole lists, as fast as allowed']!(BUDGET, rates);
    const { byHour } = simulate(policy, evenTrace(198), measured, START + 9 * DAY);
    for (let hour = 0; hour + 24 <= byHour.length; hour += 1)
      expect(byHour.slice(hour, hour + 24).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4750);
    expect(Math.min(...byHour)).toBe(0);
  });

  test('that knows the rates of all pages comes close to the bound where they change alike', () => {
    const trace = evenTrace(20);
    const known = ratesOf(trace);
    const policy = SIMULATED['pages with known rates']!(BUDGET, known);
    const { delays, unread, byHour } = simulate(policy, trace, measured, START + 8 * DAY);
    const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length / MINUTE;
    const bound = boundOf(known, { firstDay: 2, days: 5, budget: 4750 });
    expect(unread).toBe(0);
    expect(mean / bound).toBeGreaterThan(0.9);
    expect(mean / bound).toBeLessThan(1.1);
    expect(byHour.reduce((sum, count) => sum + count, 0) / 5).toBeLessThanOrEqual(4751);
  });
});

test('a row that waits six of the measured hours is current for the others', () => {
  const staleness = new Staleness({ from: 0, until: 24 * HOUR }, 2);
  staleness.changed('a', 12 * HOUR, false);
  staleness.read('a', 18 * HOUR);
  staleness.read('b', 18 * HOUR);
  staleness.changed('a', 30 * HOUR, false);
  expect(staleness.delays).toEqual([6 * HOUR]);
  expect(staleness.unread).toBe(0);
  expect(staleness.currentShare()).toBe(1 - 6 / 48);
});
