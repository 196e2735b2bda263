import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { INBOXES, type ListKey } from '../../src/core/lists.ts';
import { ListRests } from '../../src/daemon/sweeps/rests/list-rests.ts';

const USERS: ListKey = { list: 'users', inboxId: '1' };
const TAGS: ListKey = { list: 'tags', inboxId: '2' };

test('after a pause, the lists whose 429s began it or an earlier one let others go first, until they are answered', () => {
  const rests = new ListRests();
  const resting = (minutes: number): ListKey[] =>
    [USERS, TAGS, INBOXES].filter((key) => rests.has(key, minutes * MINUTE));
  rests.giveWay(USERS, 0);
  expect(resting(4)).toEqual([USERS]);
  expect(resting(5)).toEqual([]);
  rests.giveWay(TAGS, 10 * MINUTE);
  expect(resting(14)).toEqual([USERS, TAGS]);
  expect(resting(15)).toEqual([]);
  rests.end(USERS);
  rests.giveWay(TAGS, 20 * MINUTE);
  expect(resting(24)).toEqual([TAGS]);
});

test('a list whose 429 began a pause hours ago does not rest after the pauses of others', () => {
  const rests = new ListRests();
  rests.giveWay(USERS, 0);
  rests.giveWay(TAGS, 4 * HOUR - 1);
  expect(rests.has(USERS, 4 * HOUR)).toBe(true);
  rests.giveWay(TAGS, 5 * HOUR);
  expect(rests.has(USERS, 5 * HOUR + MINUTE)).toBe(false);
});
