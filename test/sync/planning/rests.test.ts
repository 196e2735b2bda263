import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import type { FailedSweeps, LatestSweep } from '../../../src/mirror/sweeps/reader.ts';
import { failedCosts, nextTry, restsUntil, triedAgainAt } from '../../../src/sync/planning/due.ts';

const NOON = Date.parse('2026-03-02T12:00:00Z');
const BUDGET = { perDay: 5000, reserved: 200 };

/** Sweeps of a list that failed, the last one at noon. */
function failedSweeps({ sweeps = 1, lastCost = 1 }: Partial<FailedSweeps> = {}): FailedSweeps {
  return {
    sweeps,
    lastCost,
    requests: sweeps * lastCost,
    lastAt: new Date(NOON),
    lastCode: 'REQUEST_REFUSED',
  };
}

const after = (at: Date | null): number => (at?.getTime() ?? Number.NaN) - NOON;

test.each([
  [1, 15 * MINUTE],
  [3, HOUR],
  [9, 4 * HOUR],
])('after %i failed sweeps a list is tried again without a slot after %i ms', (sweeps, rest) => {
  const failed = failedSweeps({ sweeps });
  expect(after(triedAgainAt(failed, { budget: BUDGET, costs: failedCosts([failed]) }))).toBe(rest);
});

test('lists that fail for good cost a quarter of the requests together', () => {
  for (const [lists, lastCost] of [
    [300, 1],
    [25, 70],
    [4, 300],
  ] as const) {
    const failed = Array.from({ length: lists }, () => failedSweeps({ sweeps: 20, lastCost }));
    const options = { budget: BUDGET, readsPages: false, costs: failedCosts(failed) };
    const newest = [{ state: 'failed', retryAt: null, finishedAt: new Date(NOON) }] as const;
    const again = after(triedAgainAt(failed[0]!, options));
    const rest = lastCost === 1 ? again : after(restsUntil({ list: 'tags' }, newest, failed[0]!, options));
    for (const ms of [again, rest])
      expect((lists * lastCost * 24 * HOUR) / ms).toBeLessThanOrEqual((5000 - 200) / 4 + 1);
  }
});

test('lists that are forbidden later cost a quarter of the requests together', () => {
  const failed = Array.from({ length: 30 }, () => failedSweeps({ sweeps: 20, lastCost: 60 })).map(
    (sweeps) => ({
      ...sweeps,
      lastCode: 'LIST_FORBIDDEN' as const,
    }),
  );
  const costs = failedCosts(failed);
  const rest = after(triedAgainAt(failed[0]!, { budget: BUDGET, costs }));
  // Each 403 also costs a request to /inboxes.
  expect((30 * 61 * 24 * HOUR) / rest).toBeCloseTo((5000 - 200) / 4, 2);
});

test('a short list beside long ones that fail for good is tried again after hours, and they share a quarter', () => {
  const failed = [3, 200, 200, 200, 200].map((lastCost) => failedSweeps({ lastCost }));
  const costs = failedCosts(failed);
  const rests = failed.map((one) => after(triedAgainAt(one, { budget: BUDGET, costs })));
  expect(rests[0]).toBeLessThan(3 * HOUR);
  const spent = failed.map(({ lastCost }, at) => (lastCost * 24 * HOUR) / rests[at]!);
  expect(spent.reduce((sum, each) => sum + each)).toBeCloseTo((5000 - 200) / 4, 2);
});

test('a list that fails at its first page does not rest longer because others fail later', () => {
  const failed = failedSweeps();
  const costs = failedCosts([failed, failedSweeps({ lastCost: 300 }), null]);
  const newest = [{ state: 'failed', retryAt: null, finishedAt: new Date(NOON) }] as const;
  const rest = restsUntil({ list: 'tags' }, newest, failed, { budget: BUDGET, readsPages: false, costs });
  expect(after(rest)).toBeLessThan(2 * MINUTE);
});

test.each([
  ['its next slot, if that is first', 10 * MINUTE, -HOUR, 10 * MINUTE],
  ['15 minutes, if its next slot is a day later', 24 * HOUR, -HOUR, 15 * MINUTE],
  ['its rest alone, if a slot has passed meanwhile', 24 * HOUR, 1, 72_000],
])('a list whose walk failed is next tried after %s', (_what, next, last, wait) => {
  const failed = failedSweeps();
  const newest = [{ state: 'failed', retryAt: null, finishedAt: new Date(NOON) }] as unknown as LatestSweep[];
  const options = { budget: BUDGET, readsPages: false, costs: failedCosts([failed]) };
  const slot = { last: new Date(NOON + last), next: new Date(NOON + next) };
  const found = after(nextTry({ list: 'tags' }, newest, failed, { ...options, slot }));
  expect(Math.abs(found - wait)).toBeLessThan(1000);
});

test('a list of conversations that no slot limits is tried after its rest, whatever the slots', () => {
  const failed = failedSweeps({ lastCost: 43 });
  const newest = [{ state: 'failed', retryAt: null, finishedAt: new Date(NOON) }] as unknown as LatestSweep[];
  const options = { budget: BUDGET, readsPages: true, costs: failedCosts([failed, failedSweeps()]) };
  const slot = { last: null, next: new Date(NOON + 24 * HOUR) };
  const rest = restsUntil({ list: 'conversations' }, newest, failed, options);
  expect(nextTry({ list: 'conversations' }, newest, failed, { ...options, slot })).toEqual(rest);
});

test.each([
  ['rests 21 hours if no page was read', 1, 1, 21 * HOUR],
  ['rests 21 hours each time if no page was read', 3, 1, 21 * HOUR],
  ['amid its pages rests as after any failure', 2, 20, 30 * MINUTE],
])('a list that is forbidden %s', (_what, sweeps, lastCost, wait) => {
  const failed = { ...failedSweeps({ sweeps, lastCost }), lastCode: 'LIST_FORBIDDEN' } as const;
  expect(after(triedAgainAt(failed, { budget: BUDGET, costs: failedCosts([failed]) }))).toBe(wait);
});

test('lists that are forbidden at their first page share a quarter if walks of them had read pages', () => {
  const failed = Array.from({ length: 400 }, () => ({
    ...failedSweeps({ sweeps: 20 }),
    requests: 22,
    lastCode: 'LIST_FORBIDDEN' as const,
  }));
  const options = { budget: BUDGET, readsPages: false, costs: failedCosts(failed) };
  const newest = [
    { state: 'failed', retryAt: null, finishedAt: new Date(NOON) },
    { state: 'complete', retryAt: null, finishedAt: new Date(NOON) },
  ] as const;
  const rest = after(restsUntil({ list: 'conversations' }, newest, failed[0]!, options));
  // Each 403 also costs a request to /inboxes.
  expect((400 * 2 * 24 * HOUR) / rest).toBeLessThanOrEqual((5000 - 200) / 4 + 1);
});

test('a list that is forbidden at its first page rests as after any failure if a walk had read pages', () => {
  const failed = { ...failedSweeps({ sweeps: 3 }), requests: 3 + 20, lastCode: 'LIST_FORBIDDEN' } as const;
  const newest = [{ state: 'failed', retryAt: null, finishedAt: new Date(NOON) }] as const;
  const options = { budget: BUDGET, readsPages: true, costs: failedCosts([failed]) };
  expect(after(restsUntil({ list: 'conversations' }, newest, failed, options))).toBe(HOUR);
});

test.each([
  ['at its first page does not delay the others', 1, 0],
  ['later rests by its cost in a sync too', 399, 20],
])('a list that is forbidden %s', (_what, lastCost, later) => {
  const forbidden = { ...failedSweeps({ lastCost }), lastCode: 'LIST_FORBIDDEN' } as const;
  expect(failedCosts([forbidden])).toEqual({ first: 0, later });
});
