import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import type { ListKey } from '../../src/core/lists.ts';
import { KindRests } from '../../src/daemon/sweeps/rests/kind-rests.ts';

const users = (inboxId: string): { key: ListKey } => ({ key: { list: 'users', inboxId } });
const ids = (lists: readonly { key: ListKey }[]): (string | null)[] => lists.map(({ key }) => key.inboxId);

/** Lets lists fail, one after the other. */
function failing(...inboxIds: string[]): KindRests {
  const kinds = new KindRests();
  for (const id of inboxIds) kinds.noteFailure(users(id).key, 0);
  return kinds;
}

test('a kind of which three lists have failed rests, and other kinds do not', () => {
  const kinds = failing('1', '2', '3');
  const tags = { key: { list: 'tags', inboxId: '1' } } as const;
  expect(kinds.withoutResting([users('4'), tags], [], MINUTE)).toEqual([tags]);
});

test('after a rest one list tests the kind, first one that has not failed', () => {
  const kinds = failing('1', '2', '3');
  expect(ids(kinds.withoutResting([users('1'), users('2'), users('4')], [], HOUR))).toEqual(['4']);
  expect(kinds.withoutResting([users('1'), users('4')], [users('2')], HOUR)).toEqual([]);
  kinds.noteFailure(users('4').key, HOUR);
  expect(ids(kinds.withoutResting([users('4'), users('2'), users('1')], [], 3 * HOUR))).toEqual(['1']);
});

test('an answer ends the rest, and the lists that failed still come after the others', () => {
  const kinds = failing('1', '2', '3', '4');
  kinds.noteAnswer(users('4').key);
  expect(ids(kinds.withoutResting([users('1'), users('2'), users('4'), users('5')], [], MINUTE))).toEqual([
    '4',
    '5',
    '1',
    '2',
  ]);
  for (const id of ['1', '2', '3']) kinds.noteFailure(users(id).key, MINUTE);
  expect(ids(kinds.withoutResting([users('1'), users('2'), users('5')], [], HOUR))).toEqual(['5']);
});

test('four hours after its failure, a list no longer comes last', () => {
  const kinds = failing('1');
  const order = (now: number): (string | null)[] =>
    ids(kinds.withoutResting([users('1'), users('2')], [], now));
  expect(order(4 * HOUR - 1)).toEqual(['2', '1']);
  expect(order(4 * HOUR)).toEqual(['1', '2']);
});

test('in an outage no kind rests, but one list tests it', () => {
  const kinds = new KindRests();
  for (const id of ['1', '2', '3']) kinds.noteFailure(users(id).key, 0, true);
  expect(ids(kinds.withoutResting([users('1'), users('2')], [], 0))).toEqual(['1']);
});

test('kinds of which several lists drew 429s let others go first after each pause', () => {
  const kinds = new KindRests();
  kinds.giveWay(users('1').key, 10 * MINUTE);
  expect(ids(kinds.withoutResting([users('2')], [], MINUTE))).toEqual(['2']);
  kinds.giveWay(users('2').key, 20 * MINUTE);
  expect(kinds.withoutResting([users('3')], [], 19 * MINUTE)).toEqual([]);
  kinds.giveWay({ list: 'tags', inboxId: '1' }, 40 * MINUTE);
  expect(kinds.withoutResting([users('3')], [], 39 * MINUTE)).toEqual([]);
  expect(ids(kinds.withoutResting([users('3')], [], 40 * MINUTE))).toEqual(['3']);
});
