import { expect, test } from 'vitest';
import { MINUTE } from '../../src/core/clock.ts';
import type { ListKey } from '../../src/core/lists.ts';
import { ListRests } from '../../src/daemon/sweeps/rests/list-rests.ts';
import { prolonged, troubleOf } from '../../src/daemon/troubles.ts';
import { asGateState } from '../../src/mirror/gate/ledger.ts';
import { accessId } from '../../src/core/secrets.ts';

const ACCESS = { address: 'https://mail.example.com/v1', fingerprint: 'in use' };
const NOW = Date.parse('2026-03-02T12:00:00Z');
const OPEN = asGateState(undefined);
const later = (ms: number): Date => new Date(NOW + ms);

test('a pause of over two minutes or an open breaker is trouble, a shorter pause is not', () => {
  const paused = (strikes: number, ms: number) =>
    troubleOf({ ...OPEN, strikes, pausedUntil: later(ms), cause: '429' }, null, ACCESS, NOW);
  expect(paused(1, 5000)).toBeNull();
  expect(paused(1, 2 * MINUTE)).toBeNull();
  expect(paused(1, 2 * MINUTE + 1)).toMatchObject({ why: 'pause', until: later(2 * MINUTE + 1) });
  expect(paused(3, 5000)).toMatchObject({ why: 'pause' });
  expect(paused(3, 0), 'it is over').toBeNull();
});

test('a refused key is trouble only while that key and the address that refused it are in use', () => {
  const gate = { ...OPEN, refusedKey: accessId(ACCESS), cause: 'HTTP 401' };
  expect(troubleOf(gate, null, ACCESS, NOW)).toEqual({ why: 'key', cause: 'HTTP 401', until: null });
  expect(troubleOf(gate, null, { ...ACCESS, fingerprint: 'new' }, NOW)).toBeNull();
  expect(troubleOf(gate, null, { ...ACCESS, address: 'https://other.example.com/v1' }, NOW)).toBeNull();
});

test('an outage is retried after as long as it has lasted, at least 30 s and at most 15 min', () => {
  const first = prolonged(null, 'reset', NOW);
  expect(first).toEqual({ since: later(0), until: later(MINUTE / 2), cause: 'reset' });
  const after = (ms: number) => prolonged(first, 'reset', NOW + ms).until.getTime() - NOW - ms;
  expect([after(40_000), after(5 * MINUTE), after(60 * MINUTE)]).toEqual([40_000, 5 * MINUTE, 15 * MINUTE]);
});

test('an outage in the future, left by a clock that was ahead, is retried at once', () => {
  const outage = { since: later(170 * MINUTE), until: later(180 * MINUTE), cause: 'reset' };
  expect(troubleOf(OPEN, outage, ACCESS, NOW)).toBeNull();
  expect(prolonged(outage, 'reset', NOW)).toMatchObject({ since: later(0), until: later(MINUTE / 2) });
});

test('a failing list rests twice as long each time, up to an hour; a success resets that', () => {
  const rests = new ListRests();
  const key: ListKey = { list: 'tags', inboxId: '1' };
  const lasts = Array.from({ length: 6 }, () => rests.begin(key, { now: 0, inOutage: false }) / MINUTE);
  expect(lasts).toEqual([5, 10, 20, 40, 60, 60]);
  expect([rests.has(key, 60 * MINUTE - 1), rests.has(key, 60 * MINUTE)]).toEqual([true, false]);
  rests.end(key);
  expect(rests.begin(key, { now: 0, inOutage: false })).toBe(5 * MINUTE);
});

test('the end of an outage ends the rests of its lists, unless one alone failed or they fail again', () => {
  const keys = ['1', '2', '3'].map((inboxId): ListKey => ({ list: 'users', inboxId }));
  const resting = (rests: ListRests) => keys.filter((key) => rests.has(key, 1)).map(({ inboxId }) => inboxId);
  const several = new ListRests();
  for (const [index, key] of keys.entries()) several.begin(key, { now: 0, inOutage: index > 0 });
  several.serviceIsBack();
  expect(resting(several)).toEqual(['1']);
  const single = new ListRests();
  single.begin(keys[0]!, { now: 0, inOutage: true });
  single.serviceIsBack();
  single.begin(keys[1]!, { now: 0, inOutage: true });
  single.serviceIsBack();
  expect(resting(single)).toEqual(['1', '2']);
  const fail = (): void => {
    for (const key of keys.slice(0, 2)) several.begin(key, { now: 0, inOutage: true });
    several.serviceIsBack();
  };
  several.end(keys[0]!);
  fail();
  expect(resting(several)).toEqual(['2']);
  several.end(keys[1]!);
  fail();
  expect(resting(several)).toEqual(['1']);
});
