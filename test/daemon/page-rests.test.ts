import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { PageRests } from '../../src/daemon/sweeps/rests/page-rests.ts';
import type { Bookmark } from '../../src/mirror/bookmarks/bookmark.ts';

const page = (afterId: string, inboxId = '1'): Bookmark => ({
  inboxId,
  afterId,
  token: afterId,
  readAt: 0,
  direction: 'asc',
  baselineAt: 0,
});

test('the first page of a list that a process reads gets a single try, as the one that failed before it', () => {
  const rests = new PageRests();
  expect(rests.getsOneTry('1')).toBe(true);
  rests.end(page('a'));
  expect([rests.getsOneTry('1'), rests.getsOneTry('2')]).toEqual([false, true]);
});

test('a page that cannot be read rests alone, and the next try is a single one', () => {
  const rests = new PageRests();
  rests.end(page('a'));
  expect(rests.begin(page('a'), 0, 0)).toBe(10 * MINUTE);
  expect([rests.until(page('a')), rests.until(page('b'))]).toEqual([10 * MINUTE, 0]);
  expect(rests.getsOneTry('1')).toBe(true);
});

test('after a second page in a row the list rests, and that page for an hour: the next try reads another', () => {
  const rests = new PageRests();
  rests.begin(page('a'), 0, 0);
  expect(rests.begin(page('b'), MINUTE, 0)).toBe(10 * MINUTE);
  expect(rests.until(page('c'))).toBe(11 * MINUTE);
  expect(rests.until(page('b'))).toBe(HOUR + MINUTE);
  expect(rests.until(page('a', '2'))).toBe(0);
});

test('the rests of a list grow up to an hour, until one of its pages is read', () => {
  const rests = new PageRests();
  const lasts = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => rests.begin(page(id), 0, 0) / MINUTE);
  expect(lasts).toEqual([10, 10, 20, 40, 60, 60]);
  rests.end(page('g'));
  expect([rests.until(page('h')), rests.getsOneTry('1')]).toEqual([0, false]);
  rests.begin(page('h'), 0, 0);
  expect(rests.begin(page('i'), 0, 0)).toBe(10 * MINUTE);
});

test('a page whose answer asks to wait rests its list for that time', () => {
  const rests = new PageRests();
  expect(rests.begin(page('a'), 0, 3 * HOUR)).toBe(3 * HOUR);
  expect(rests.until(page('b'))).toBe(3 * HOUR);
});
