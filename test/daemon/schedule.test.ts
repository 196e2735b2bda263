import { describe, expect, test } from 'vitest';
import type { ListName } from '../../src/core/lists.ts';
import type { Schedule } from '../../src/mirror/schedules.ts';
import { markDue } from '../../src/sync/planning/due.ts';
import { cronsOf } from '../../src/sync/planning/freshness.ts';
import { daemonHouse, DAY, HOUR, MINUTE, SCHEDULES, type TestHouse } from '../support/daemon.ts';
import { count } from '../support/rows.ts';

const SMALL = { sandbox: { conversations: [25, 15] }, limits: { pageSize: 20 } };
const WHOLE = 1 + 2 + 2 + 3;

async function scheduled({ database }: TestHouse, list: ListName): Promise<number> {
  return await count(database, `sweeps WHERE list = $1 AND reason = 'schedule' AND state = 'complete'`, list);
}

test('slots that passed while no daemon ran are made good once', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  const first = await house.start();
  await clock.sleep(5 * MINUTE);
  await first.stop();
  await clock.sleep(2 * DAY);
  const from = sandbox.arrivals.length;
  await house.start();
  await clock.sleep(5 * MINUTE);
  expect(sandbox.arrivals.length - from).toBe(WHOLE);
  expect(await house.late()).toEqual([]);
});

test('a restart within a slot forgets nothing and repeats nothing', async () => {
  const house = await daemonHouse({ ...SMALL, pollMs: 1000 });
  const { clock, sandbox } = house;
  const first = await house.start();
  await clock.sleep(3500);
  await first.stop();
  const read = sandbox.arrivals.length;
  expect(read).toBeGreaterThan(1);
  expect(read).toBeLessThan(WHOLE);
  const second = await house.start();
  await clock.sleep(MINUTE);
  expect(sandbox.arrivals.length).toBe(WHOLE);
  await second.stop();
  await house.start();
  await clock.sleep(10 * MINUTE);
  expect(sandbox.arrivals.length).toBe(WHOLE);
});

test('lists that a command has just read are not read again because a daemon starts', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  const order = await house.order();
  const first = await house.start();
  await clock.sleep(2 * MINUTE);
  expect(await count(house.database, `sync_requests WHERE id = $1 AND state = 'done'`, order)).toBe(1);
  await first.stop();
  await house.database.execute(`DELETE FROM schedules`);
  await house.start();
  await clock.sleep(5 * MINUTE);
  expect(sandbox.arrivals.length).toBe(WHOLE);
});

test('a schedule that is different is kept from its next slot on', async () => {
  const house = await daemonHouse(SMALL);
  const { clock } = house;
  const first = await house.start();
  await clock.sleep(5 * MINUTE);
  await first.stop();
  house.schedules = { ...house.schedules, users: '10 * * * *', conversations: '0 0 * * *' };
  await house.start();
  await clock.sleep(2 * HOUR);
  expect(await scheduled(house, 'users')).toBe(2 * (1 + 2));
  expect(await scheduled(house, 'conversations')).toBe(2);
});

test('an inbox that is new is read as soon as it is known', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(30 * MINUTE);
  const { id } = sandbox.world.addInbox();
  await clock.sleep(35 * MINUTE);
  const { lists } = await house.status();
  expect(lists.filter(({ inboxId, completeAsOf }) => inboxId === id && completeAsOf !== null)).toHaveLength(
    3,
  );
});

describe('what is due', () => {
  const NOON = Date.parse('2026-03-02T12:00:00Z');

  /** The schedules as SQL would keep them, and how often they were written. */
  function kept() {
    const schedules = new Map<ListName, Schedule>();
    const written: Schedule[] = [];
    return {
      schedules: async () => Promise.resolve([...schedules.values()]),
      writeSchedule: async (schedule: Schedule) => {
        written.push(schedule);
        schedules.set(schedule.list, schedule);
        return Promise.resolve();
      },
      of: (list: ListName) => schedules.get(list),
      written,
    };
  }

  const crons = cronsOf(SCHEDULES, 'UTC');

  test('is everything at first, then a kind at each of its slots', async () => {
    const store = kept();
    expect(await markDue(store, crons, NOON + 1)).toBe(true);
    expect(store.of('conversations')).toMatchObject({
      dueBefore: new Date(NOON - 15 * MINUTE),
      dueSince: new Date(NOON),
      nextAt: new Date(NOON + 15 * MINUTE),
    });
    expect(await markDue(store, crons, NOON + 15 * MINUTE - 1)).toBe(false);
    expect(store.written).toHaveLength(4);
    expect(await markDue(store, crons, NOON + 15 * MINUTE)).toBe(true);
    expect(store.of('conversations')).toMatchObject({
      dueBefore: new Date(NOON),
      dueSince: new Date(NOON + 15 * MINUTE),
      nextAt: new Date(NOON + 30 * MINUTE),
    });
    expect(store.written).toHaveLength(5);
  });

  test('of many slots that were missed is the last', async () => {
    const store = kept();
    await markDue(store, crons, NOON + 1);
    await markDue(store, crons, NOON + 50 * HOUR + 20 * MINUTE);
    expect(store.of('conversations')).toMatchObject({
      dueBefore: new Date(NOON + 50 * HOUR),
      dueSince: new Date(NOON + 50 * HOUR + 15 * MINUTE),
    });
    expect(store.of('users')).toMatchObject({ dueSince: new Date(NOON + 48 * HOUR + 20 * MINUTE) });
  });

  test('does not lie in the future when the clock is set back, nor wait for it', async () => {
    const store = kept();
    await markDue(store, crons, NOON + 1);
    const back = NOON - 3 * HOUR;
    expect(await markDue(store, crons, back)).toBe(true);
    expect(store.of('conversations')).toMatchObject({
      dueSince: new Date(back),
      nextAt: new Date(back + 15 * MINUTE),
    });
  });

  test('stays as it is when a schedule is another one, or its zone', async () => {
    const store = kept();
    await markDue(store, crons, NOON + 1);
    const before = store.of('tags')?.dueSince;
    expect(
      await markDue(store, cronsOf({ ...SCHEDULES, tags: '0 3 * * *' }, 'Europe/Berlin'), NOON + MINUTE),
    ).toBe(false);
    expect(store.of('tags')).toMatchObject({
      expression: '0 3 * * *',
      dueSince: before,
      nextAt: new Date('2026-03-03T02:00:00Z'),
    });
  });
});
