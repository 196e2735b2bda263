import { expect, test } from 'vitest';
import { DAY, HOUR, SECOND } from '../../../src/core/clock.ts';
import type { ListName } from '../../../src/core/lists.ts';
import { forecastResync } from '../../../src/sync/planning/forecast.ts';
import { quickMirror } from '../../support/template.ts';

const even = Array.from({ length: 24 }, () => 20);

test('a resync lasts until enough requests of an evenly used day have left the window', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [250] } });
  await mirror.sync();
  const lasts = async (perDay: number, sent: number, leaving = even): Promise<number> => {
    const budget = { perSecond: 1, perDay, reserved: 0, pageSize: 10 };
    const scope = { lists: ['conversations' as const], inboxId: null };
    return (await forecastResync(mirror.writer, scope, budget, { sent, leaving })).lastsMs;
  };
  // 25 requests at one a second.
  expect(await lasts(480, 400)).toBe(25 * SECOND);
  expect(await lasts(480, 475)).toBe(HOUR);
  expect(await lasts(480, 480)).toBe(2 * HOUR);
  // A day of 10 requests: two whole days, and the first hours of the third.
  const few = Array.from({ length: 24 }, (_, hour) => (hour < 10 ? 1 : 0));
  expect(await lasts(10, 10, few)).toBe(2 * DAY + 5 * HOUR);
});

test('without inboxes a resync of their list has a known cost, and one of all lists has not', async () => {
  const mirror = await quickMirror({ sandbox: { conversations: [] } });
  await mirror.sync();
  const budget = { perSecond: 1, perDay: 480, reserved: 0, pageSize: 10 };
  const isKnown = async (lists: readonly ListName[]): Promise<boolean> => {
    const window = { sent: 0, leaving: even };
    return (await forecastResync(mirror.writer, { lists, inboxId: null }, budget, window)).complete;
  };
  expect(await isKnown(['inboxes'])).toBe(true);
  expect(await isKnown(['inboxes', 'users', 'tags', 'conversations'])).toBe(false);
});
