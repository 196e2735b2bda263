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
