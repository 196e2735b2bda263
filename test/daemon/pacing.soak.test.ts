import { expect, test } from 'vitest';
import { DAY, MINUTE } from '../../src/core/clock.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { readWaiting } from '../../src/sync/planning/waiting.ts';
import { daemonHouse } from '../support/daemon.ts';
import { byHour, LIMITS, SHARE } from '../support/pace-house.ts';

test('a first filling larger than a day leaves other lists an hour of it, and is paced from the next day on', async () => {
  const house = await daemonHouse({
    sandbox: { conversations: [9000, 20], perDay: 500 },
    limits: LIMITS,
    pollMs: 5 * MINUTE,
  });
  const begin = house.clock.now();
  await house.start();
  await house.clock.sleep(2 * DAY);
  const hours = byHour(house, begin, begin + 2 * DAY);
  expect(hours[0]).toBeGreaterThan(440);
  // The last hour's share lasts for the rest of the day: about one request an hour.
  const silent = hours.filter(
    (requests, hour) => requests + (hours[hour + 1] ?? 1) + (hours[hour + 2] ?? 1) === 0,
  );
  expect(silent).toEqual([]);
  const next = hours.slice(24);
  expect(Math.max(...next)).toBeLessThanOrEqual(3 * SHARE);
  expect(
    next.reduce((sum, requests) => sum + requests, 0),
    'the next day is used',
  ).toBeGreaterThan(440);
});

test('status says how many due lists wait for a place, and about when the first of them begins', async () => {
  const house = await daemonHouse({
    sandbox: { conversations: Array.from({ length: 8 }, () => 150), perDay: 500 },
    limits: LIMITS,
    pollMs: 3 * MINUTE,
  });
  const { clock, database } = house;
  await house.start();
  await clock.sleep(2 * DAY + 7 * MINUTE);
  const waiting = await readWaiting(
    mirrorOn(database),
    { budget: { ...LIMITS, perSecond: 1 }, readsPages: false },
    clock.now(),
  );
  expect(waiting).not.toBeNull();
  const { lists, requests, until } = waiting!;
  expect(lists).toBeGreaterThanOrEqual(3);
  expect(requests).toBeGreaterThanOrEqual(lists);
  const begun = async (): Promise<number> => {
    const [row] = await database.query<{ last: number }>(`SELECT max(id) AS last FROM sweeps`);
    return row!.last;
  };
  const before = await begun();
  while ((await begun()) === before) await clock.sleep(MINUTE);
  // A turn of six sweeps takes 18 minutes.
  expect(Math.abs(clock.now() - until.getTime())).toBeLessThanOrEqual(18 * MINUTE);
});
