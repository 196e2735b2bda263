import { expect, test } from 'vitest';
import { DAY, MINUTE } from '../../src/core/clock.ts';
import { daemonHouse } from '../support/daemon.ts';
import { count } from '../support/rows.ts';

test('a daemon stores the sums of the days that have passed a minute after its start', async () => {
  const house = await daemonHouse({ sandbox: { conversations: [5] } });
  const first = await house.start();
  await house.clock.sleep(2 * MINUTE);
  await first.stop();
  await house.clock.sleep(3 * DAY);
  expect(await count(house.database, 'counted_days')).toBe(0);
  await house.start();
  await house.clock.sleep(2 * MINUTE);
  await expect.poll(() => count(house.database, 'counted_days')).toBe(3);
});

test('housekeeping deletes old rows even if counting the days fails', async () => {
  const house = await daemonHouse({ sandbox: { conversations: [5] } });
  await (await house.start()).stop();
  const old = `INSERT INTO requests (sent_at, method, path, reason) VALUES ($1, 'GET', '/', 'manual')`;
  await house.database.execute(old, '2020-01-01T00:00:00.000+00:00');
  const before = await count(house.database, 'requests');
  await house.clock.sleep(3 * DAY);
  await house.database.execute(`DROP TABLE day_turns`);
  await house.start();
  await house.clock.sleep(2 * MINUTE);
  await expect.poll(() => count(house.database, `requests WHERE sent_at < '2021'`)).toBe(0);
  expect(before).toBeGreaterThan(0);
});
