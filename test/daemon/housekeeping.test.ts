import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { housekeepDaily } from '../../src/daemon/housekeeping.ts';
import type { Writer } from '../../src/mirror/mirror.ts';
import { daemonHouse } from '../support/daemon.ts';
import { testLog } from '../support/log.ts';
import { count } from '../support/rows.ts';
import { quickMirror } from '../support/template.ts';

const SETTINGS = { reportTimezone: 'UTC', budget: { perDay: 5000, reserved: 250 } };

/** What housekeeping uses of the mirror, for tests that replace a part of it. */
function partsOf(writer: Writer): Parameters<typeof housekeepDaily>[0] {
  return {
    ledger: writer.ledger,
    housekeep: writer.housekeep.bind(writer),
    countDays: writer.countDays.bind(writer),
    keepViewSettings: writer.keepViewSettings.bind(writer),
  };
}

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

test.each([-400, 400])(
  'writes the days of the views minutes after the clock is set by %i days',
  async (days) => {
    const { writer, clock } = await quickMirror();
    const stop = new AbortController();
    const writtenAt: number[] = [];
    const observed = {
      ...partsOf(writer),
      keepViewSettings: (): Promise<void> => {
        writtenAt.push(clock.monotonic());
        if (writtenAt.length === 2) stop.abort();
        else clock.setWall(days * DAY);
        return Promise.resolve();
      },
    };
    await housekeepDaily(observed, SETTINGS, { clock, log: testLog().log, signal: stop.signal });
    const [first = 0, second = Number.POSITIVE_INFINITY] = writtenAt;
    expect(second - first).toBeLessThanOrEqual(5 * MINUTE);
  },
);

test('a clock that is set by 400 days makes no request of the last day old', async () => {
  const { writer, database, clock, sync } = await quickMirror();
  await sync();
  const sent = await count(database, 'requests');
  const stop = new AbortController();
  const observed = {
    ...partsOf(writer),
    countDays: () => {
      stop.abort();
      return Promise.resolve(0);
    },
  };
  clock.setWall(400 * DAY);
  await housekeepDaily(observed, SETTINGS, { clock, log: testLog().log, signal: stop.signal });
  expect(stop.signal.aborted).toBe(true);
  expect(await count(database, 'requests')).toBe(sent);
});

test('housekeeping deletes old rows even if counting the days fails', async () => {
  const { writer, database, clock } = await quickMirror();
  await database.execute(
    `INSERT INTO requests (sent_at, method, path, reason) VALUES ($1, 'GET', '/', 'manual')`,
    '2020-01-01T00:00:00.000+00:00',
  );
  const stop = new AbortController();
  const failing = {
    ...partsOf(writer),
    countDays: () => {
      stop.abort();
      return Promise.reject(new Error('the days cannot be counted'));
    },
  };
  await housekeepDaily(failing, SETTINGS, { clock, log: testLog().log, signal: stop.signal });
  expect(stop.signal.aborted).toBe(true);
  expect(await count(database, 'requests')).toBe(0);
});

test('housekeeping that failed is done again after an hour, and then once a day', async () => {
  const { writer, clock } = await quickMirror();
  const stop = new AbortController();
  const begunAt: number[] = [];
  const failingOnce = {
    ...partsOf(writer),
    keepViewSettings: () => {
      begunAt.push(clock.monotonic());
      if (begunAt.length === 3) stop.abort();
      return begunAt.length === 1 ? Promise.reject(new Error('the database is away')) : Promise.resolve();
    },
  };
  await housekeepDaily(failingOnce, SETTINGS, { clock, log: testLog().log, signal: stop.signal });
  const [first = 0, second = 0, third = 0] = begunAt;
  expect([second - first, third - second]).toEqual([HOUR, DAY]);
});
