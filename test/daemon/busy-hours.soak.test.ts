import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { daemonHouse } from '../support/daemon.ts';
import { BUSY, byHour, SHARE } from '../support/pace-house.ts';

test('the daemon learns the busy hours and shifts requests to them; no hour gets less than a tenth', async () => {
  const house = await daemonHouse(BUSY);
  const { clock, sandbox } = house;
  await house.start();
  const isOffice = (): boolean =>
    new Date(clock.now()).getUTCHours() % 24 >= 9 && clock.now() % DAY < 17 * HOUR;
  for (let hour = 0; hour < 6 * 24; hour += 1) {
    if (isOffice()) sandbox.applyEvents(40);
    await clock.sleep(HOUR);
  }
  const midnight = clock.now() - (clock.now() % DAY);
  const hours = byHour(house, midnight - DAY, midnight);
  const mean = (from: number, until: number): number =>
    hours.slice(from, until).reduce((sum, requests) => sum + requests, 0) / (until - from);
  expect(mean(9, 17)).toBeGreaterThan(1.6 * mean(0, 7));
  expect(Math.min(...hours)).toBeGreaterThanOrEqual(SHARE / 10);
  expect(mean(0, 24)).toBeGreaterThan(0.9 * SHARE);
}, 180_000);
