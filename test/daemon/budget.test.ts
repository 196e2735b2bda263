import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { LIST_NAMES, listId, type ListName } from '../../src/core/lists.ts';
import { cronsOf } from '../../src/sync/planning/cron.ts';
import { loadOf } from '../../src/sync/planning/load/load.ts';
import { daemonHouse, LIMITS, type TestHouse } from '../support/daemon.ts';
import { count, mostInADay } from '../support/rows.ts';

/** The most hours between two complete sweeps of a list, by kind, for sweeps that end after `from`. */
async function oldest({ database }: TestHouse, from: number): Promise<Record<ListName, number>> {
  const rows = await database.query<{ list: ListName; inbox_id: string | null; finished_at: Date }>(
    `SELECT list, inbox_id, finished_at FROM sweeps WHERE state = 'complete' ORDER BY id`,
  );
  const ages = Object.fromEntries(LIST_NAMES.map((list) => [list, 0])) as Record<ListName, number>;
  for (const own of Map.groupBy(rows, ({ list, inbox_id }) => listId({ list, inboxId: inbox_id })).values()) {
    for (const [index, { list, finished_at }] of own.entries()) {
      const before = own[index - 1];
      if (before === undefined || finished_at.getTime() < from) continue;
      ages[list] = Math.max(ages[list], (finished_at.getTime() - before.finished_at.getTime()) / HOUR);
    }
  }
  return ages;
}

test('schedules beyond the day budget spare the reserve and keep lists within forecast ages', async () => {
  const limits = { ...LIMITS, pageSize: 10, perDay: 120, reserved: 20 };
  const house = await daemonHouse({
    sandbox: { conversations: [150, 50, 20], perDay: 120, activityPerHour: 4 },
    limits,
    pollMs: 15 * MINUTE,
  });
  const { clock, sandbox } = house;
  const daemon = await house.start();
  await clock.sleep(5 * MINUTE);
  const begin = clock.now();
  const plan = await loadOf(
    daemon.writer,
    cronsOf(house.schedules, 'UTC'),
    { budget: limits, readPages: null },
    begin,
  );
  expect(plan.wanted).toBeGreaterThan(20 * plan.available);
  await clock.sleep(4 * DAY);
  expect(sandbox.arrivals.filter(({ status }) => status === 429)).toEqual([]);
  expect(mostInADay(house.sandbox)).toBeLessThanOrEqual(100);
  expect(sandbox.arrivals.length, 'the day is used').toBeGreaterThan(4 * 90);
  const ages = await oldest(house, begin + DAY);
  for (const { list, worstAgeMs } of plan.kinds) {
    expect({ list, age: ages[list] > (worstAgeMs! / HOUR) * 1.5 + 1 ? ages[list] : 'as foretold' }).toEqual({
      list,
      age: 'as foretold',
    });
  }
});

test('the daemon completes a list larger than the day budget and reads the others meanwhile', async () => {
  const limits = { pageSize: 10, perDay: 70, reserved: 10 };
  const house = await daemonHouse({
    sandbox: { conversations: [800, 20], perDay: 70 },
    limits,
    pollMs: 30 * MINUTE,
  });
  const { clock, sandbox, database } = house;
  await house.start();
  const complete = async (inboxId: string): Promise<number> =>
    await count(
      database,
      `sweeps WHERE list = 'conversations' AND inbox_id = $1 AND state = 'complete'`,
      inboxId,
    );
  const [large, small] = [...sandbox.world.inboxes.keys()] as [string, string];
  let days = 0;
  for (; days < 12 && (await complete(large)) < 2; days += 1) await clock.sleep(DAY);
  expect(days).toBeLessThanOrEqual(8);
  expect(await complete(small)).toBeGreaterThanOrEqual(days);
  expect(
    await count(database, `sweeps WHERE list = 'inboxes' AND state = 'complete'`),
  ).toBeGreaterThanOrEqual(days);
  expect(mostInADay(house.sandbox)).toBeLessThanOrEqual(60);
  expect(sandbox.arrivals.every(({ status }) => status === 200)).toBe(true);
});
