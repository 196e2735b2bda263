import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { INBOXES, type ListKey } from '../../src/core/lists.ts';
import { Cooldowns } from '../../src/daemon/sweeps/rests/cooldowns.ts';

const USERS: ListKey = { list: 'users', inboxId: '1' };
const TAGS: ListKey = { list: 'tags', inboxId: '2' };

test('after a pause, the lists whose 429s began it or an earlier one let others go first, until they are answered', () => {
  const cooldowns = new Cooldowns();
  const resting = (minutes: number): ListKey[] =>
    [USERS, TAGS, INBOXES].filter((key) => cooldowns.has(key, minutes * MINUTE));
  cooldowns.giveWay(USERS, 0);
  expect(resting(4)).toEqual([USERS]);
  expect(resting(5)).toEqual([]);
  cooldowns.giveWay(TAGS, 10 * MINUTE);
  expect(resting(14)).toEqual([USERS, TAGS]);
  expect(resting(15)).toEqual([]);
  cooldowns.end(USERS);
  cooldowns.giveWay(TAGS, 20 * MINUTE);
  expect(resting(24)).toEqual([TAGS]);
});

test('a list whose 429 began a pause hours ago does not rest after the pauses of others', () => {
  const cooldowns = new Cooldowns();
  cooldowns.giveWay(USERS, 0);
  cooldowns.giveWay(TAGS, 4 * HOUR - 1);
  expect(cooldowns.has(USERS, 4 * HOUR)).toBe(true);
  cooldowns.giveWay(TAGS, 5 * HOUR);
  expect(cooldowns.has(USERS, 5 * HOUR + MINUTE)).toBe(false);
});
