import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/core/clock.ts';
import { iso } from '../../../src/database/instants.ts';
import { quickMirror } from '../../support/template.ts';

const NOON = Date.parse('2026-03-02T12:00:00Z');

test('the requests of the window are counted by the hour in which they leave it', async () => {
  const { database, writer } = await quickMirror();
  const send = async (at: number, reason: string): Promise<void> => {
    await database.execute(
      `INSERT INTO requests (sent_at, method, path, reason) VALUES ($1, 'GET', '/inboxes', $2)`,
      iso(at),
      reason,
    );
  };
  const start = NOON - 24 * HOUR - 30_000;
  await send(start, 'schedule');
  for (const minutes of [1, 59, 60, 61, 119]) await send(start + minutes * MINUTE, 'schedule');
  await send(NOON - 50 * MINUTE, 'probe');
  await send(NOON - 40 * MINUTE, 'page');
  await send(NOON - 20 * MINUTE, 'manual');
  await send(NOON - 1000, 'schedule');

  const { sent, leaving } = await writer.budget.windowByHour(NOON);
  expect(sent).toBe(9);
  // The last request leaves the window in more than 24 hours.
  expect(leaving).toEqual([3, 2, ...Array.from({ length: 21 }, () => 0), 3]);
  expect(await writer.budget.scheduledSince(NOON - HOUR)).toBe(3);
});
