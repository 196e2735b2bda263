import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { asGateState } from '../../src/mirror/gate/ledger.ts';
import { attemptWords, type Standstill, standstillOf } from '../../src/status/sending.ts';

const NOW = Date.parse('2026-03-02T12:00:00Z');
const at = (ms: number): Date => new Date(NOW + ms);

const OPEN = asGateState(undefined);
const PAUSED = { ...OPEN, strikes: 1, pausedAt: at(-MINUTE), pausedUntil: at(5 * MINUTE), cause: '429' };
const outage = (ms: number) => ({ since: at(-HOUR), until: at(ms), cause: 'reset' });
const account = (ms: number) => ({ since: at(-HOUR), until: at(ms), cause: 'other', access: 'x' });

const FLOWING = {
  now: NOW,
  gate: OPEN,
  outage: null,
  otherAccount: null,
  fullUntil: { manual: null, scheduled: null },
};
const SPENT = { fullUntil: { manual: at(DAY / 2), scheduled: at(DAY / 2) } };
const RESERVE_LEFT = { fullUntil: { manual: null, scheduled: at(4 * HOUR) } };

test.each<[string, Partial<Parameters<typeof standstillOf>[0]>, number]>([
  ['a short pause and a longer outage', { gate: PAUSED, outage: outage(15 * MINUTE) }, 15 * MINUTE],
  ['a pause and a shorter outage', { gate: PAUSED, outage: outage(MINUTE) }, 5 * MINUTE],
  ['an outage whose retry is due and a spent budget', { outage: outage(-MINUTE), ...SPENT }, DAY / 2],
  ['a pause and a spent budget', { gate: PAUSED, ...SPENT }, DAY / 2],
  ['a pause and another account', { gate: PAUSED, otherAccount: account(HOUR) }, HOUR],
])('of %s the standstill is the one that ends last', (_, waits, ms) => {
  expect(standstillOf({ ...FLOWING, ...waits })?.until).toEqual(at(ms));
});

test('a refused key is a standstill without an end, whatever else waits', () => {
  const gate = { ...PAUSED, refusedKey: 'key' };
  const stands: Standstill | null = standstillOf({ ...FLOWING, gate, outage: outage(HOUR), ...SPENT });
  expect(stands).toMatchObject({
    until: null,
    why: 'until another key is set, or `inbox-mirror doctor` finds this one valid again',
  });
});

test.each([
  ['a pause', { gate: PAUSED }, 'in 5 min'],
  ['a refused key', { gate: { ...PAUSED, refusedKey: 'key' } }, 'when another key is set'],
  ['a budget of which the reserve is left', RESERVE_LEFT, 'in 4 h'],
])('the next attempt in an outage waits for the end of %s', (_, waits, words) => {
  const status = { ...FLOWING, outage: outage(MINUTE), ...waits };
  expect(attemptWords(at(MINUTE), status)).toBe(words);
});
