import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import { listId, type ListName } from '../../src/core/lists.ts';
import type { Schedule } from '../../src/mirror/schedules.ts';
import { markDue } from '../../src/sync/planning/due.ts';
import { cronsOf } from '../../src/sync/planning/cron.ts';
import { daemonHouse, SCHEDULES, type TestHouse } from '../support/daemon.ts';
import { count } from '../support/rows.ts';
import { addTrigger } from '../support/triggers.ts';

const SMALL = { sandbox: { conversations: [25, 15] }, limits: { pageSize: 20 } };
const WHOLE = 1 + 2 + 2 + 3;

async function scheduled({ database }: TestHouse, list: ListName): Promise<number> {
  return await count(database, `sweeps WHERE list = $1 AND reason = 'schedule' AND state = 'complete'`, list);
}

test('a daemon that starts makes up for all missed slots with one pass', async () => {
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

test('a daemon restarted within a slot reads each page of that slot exactly once', async () => {
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

test('a daemon that starts without stored schedules does not reread what was just read', async () => {
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

test('the daemon fills a new mirror inbox by inbox, and the status lists it so', async () => {
  const house = await daemonHouse(SMALL);
  await house.start();
  await house.clock.sleep(5 * MINUTE);
  const [first, second] = house.sandbox.world.inboxes.keys();
  const walked = house.sandbox.arrivals.map(({ path }) => path.replace(/^\/v1\/|\?.*$/g, ''));
  const lists = [...new Set(walked)].map((path) => path.replace(/^inboxes\/(\d+)\/(\w+)$/, '$2/$1'));
  const kinds = ['users', 'tags', 'conversations'];
  const expected = ['inboxes', ...[first, second].flatMap((id) => kinds.map((kind) => `${kind}/${id}`))];
  expect(lists).toEqual(expected);
  expect((await house.status()).lists.map(listId)).toEqual(expected);
});

test('the daemon follows a changed schedule from its next slot on', async () => {
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

test('users and tags of many inboxes are read once a day by default, and count as fresh all day', async () => {
  // 16 lists every 6 hours would be 64 requests a day, of which 1/20 of 600 are 30.
  const house = await daemonHouse({
    sandbox: { conversations: Array.from({ length: 8 }, () => 5) },
    limits: { perDay: 600, reserved: 0 },
    schedules: { conversations: '0 3 * * *' },
    stretchable: ['users', 'tags'],
  });
  const { clock, database } = house;
  await house.start();
  await clock.sleep(DAY);
  const before = [await scheduled(house, 'users'), await scheduled(house, 'tags')];
  for (let hour = 0; hour < 48; hour += 6) {
    await clock.sleep(6 * HOUR);
    expect(await house.late()).toEqual([]);
  }
  // The view `freshness` counts with the same slots.
  const steps = await database.query('SELECT DISTINCT list, step_seconds FROM schedule_slots ORDER BY list');
  expect(steps).toContainEqual({ list: 'users', step_seconds: DAY / SECOND });
  expect(await scheduled(house, 'users')).toBe(before[0]! + 2 * 8);
  expect(await scheduled(house, 'tags')).toBe(before[1]! + 2 * 8);
});

test('a list whose walk takes longer than from slot to slot is walked again as soon as it ends', async () => {
  const yearly = { inboxes: '0 0 1 1 *', users: '0 0 1 1 *', tags: '0 0 1 1 *' };
  const house = await daemonHouse({
    pollMs: 5 * MINUTE,
    schedules: { ...yearly, conversations: '0 */6 * * *' },
    limits: { pageSize: 10, perDay: 120, reserved: 0 },
    sandbox: { conversations: [420], perDay: 120, activityPerHour: 0 },
  });
  await house.start();
  await house.clock.sleep(1.5 * DAY);
  const before = await scheduled(house, 'conversations');
  await house.clock.sleep(3 * DAY);
  expect(await scheduled(house, 'conversations')).toBeGreaterThanOrEqual(before + 8);
});

test('a list that is read across a slot, within minutes, is not read again for it', async () => {
  const house = await daemonHouse({
    pollMs: MINUTE,
    schedules: { inboxes: '0 0 1 1 *', users: '0 0 1 1 *', tags: '0 0 1 1 *', conversations: '0 */6 * * *' },
    limits: { pageSize: 10, perSecond: 0.1 },
    sandbox: { conversations: [200], rate: 0.1, activityPerHour: 0 },
  });
  const { clock } = house;
  await house.start();
  await clock.sleep(6 * HOUR - (clock.now() % (6 * HOUR)) - MINUTE);
  await house.order({ kind: 'resync', lists: ['conversations'] });
  await clock.sleep(4 * HOUR);
  const last = await count(house.database, `sweeps WHERE list = 'conversations' AND state = 'complete'`);
  expect(last).toBe(2);
});

test.each([
  ['half an hour of one night', 1],
  ['half an hour of each night', 4],
])('a list whose daily slot lies in %s of 404s is read soon afterwards', async (_what, nights) => {
  const daily = '10 2 * * *';
  const house = await daemonHouse({
    ...SMALL,
    schedules: { inboxes: daily, users: daily, tags: daily, conversations: daily },
    pollMs: 5 * MINUTE,
  });
  const { clock, sandbox } = house;
  await house.start();
  const begin = Math.floor(clock.now() / DAY);
  const isRefused = (): boolean => {
    const today = clock.now() % DAY;
    return today > 2 * HOUR && today < 2.5 * HOUR && clock.now() / DAY < begin + nights + 1;
  };
  sandbox.script(() => (isRefused() ? { status: 404 } : undefined));
  await clock.sleep(nights * DAY - (clock.now() % DAY) + 4 * HOUR);
  const from = (begin + nights) * DAY + 2.5 * HOUR;
  for (const { list, completeAsOf } of (await house.status()).lists)
    if (list === 'conversations') expect(completeAsOf?.getTime()).toBeGreaterThan(from);
});

test('a daemon that cannot write the slots of the view `freshness` reads the lists all the same', async () => {
  const house = await daemonHouse(SMALL);
  await addTrigger(house.database, {
    name: 'no_slots',
    when: 'BEFORE',
    verb: 'INSERT',
    table: 'schedule_slots',
    refuses: 'NEW.step_seconds > 0',
  });
  await house.start();
  await house.clock.sleep(5 * MINUTE);
  expect(house.sandbox.arrivals).toHaveLength(WHOLE);
  expect(house.said(40).map(({ msg }) => msg)).toEqual(['the slots of the schedules were not written']);
});

test('the daemon reads the lists of a new inbox as soon as it knows the inbox', async () => {
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

describe('markDue', () => {
  const NOON = Date.parse('2026-03-02T12:00:00Z');

  /** Keeps schedules in memory and records each write. */
  function kept() {
    const byList = new Map<ListName, Schedule>();
    const written: Schedule[] = [];
    return {
      all: async () => Promise.resolve([...byList.values()]),
      write: async (schedule: Schedule) => {
        written.push(schedule);
        byList.set(schedule.list, schedule);
        return Promise.resolve();
      },
      of: (list: ListName) => byList.get(list),
      written,
    };
  }

  const crons = cronsOf(SCHEDULES, 'UTC');

  test('marks every kind of list at first, then each kind at its slots', async () => {
    const schedules = kept();
    expect(await markDue(schedules, crons, NOON + 1)).toBe(true);
    expect(schedules.of('conversations')).toMatchObject({
      dueSince: new Date(NOON),
      nextAt: new Date(NOON + 15 * MINUTE),
    });
    expect(await markDue(schedules, crons, NOON + 15 * MINUTE - 1)).toBe(false);
    expect(schedules.written).toHaveLength(4);
    expect(await markDue(schedules, crons, NOON + 15 * MINUTE)).toBe(true);
    expect(schedules.of('conversations')).toMatchObject({
      dueSince: new Date(NOON + 15 * MINUTE),
      nextAt: new Date(NOON + 30 * MINUTE),
    });
    expect(schedules.written).toHaveLength(5);
  });

  test('marks only the last of many missed slots', async () => {
    const schedules = kept();
    await markDue(schedules, crons, NOON + 1);
    await markDue(schedules, crons, NOON + 50 * HOUR + 20 * MINUTE);
    expect(schedules.of('conversations')).toMatchObject({
      dueSince: new Date(NOON + 50 * HOUR + 15 * MINUTE),
    });
    expect(schedules.of('users')).toMatchObject({ dueSince: new Date(NOON + 48 * HOUR + 20 * MINUTE) });
  });

  test('leaves no kind due in the future when the clock is set back', async () => {
    const schedules = kept();
    await markDue(schedules, crons, NOON + 1);
    const back = NOON - 3 * HOUR;
    expect(await markDue(schedules, crons, back)).toBe(true);
    expect(schedules.of('conversations')).toMatchObject({
      dueSince: new Date(back),
      nextAt: new Date(back + 15 * MINUTE),
    });
  });

  test('keeps a slot due that passed before the schedule changed', async () => {
    const schedules = kept();
    const changed = cronsOf({ ...SCHEDULES, tags: '40 */12 * * *' }, 'UTC');
    await markDue(schedules, crons, NOON + 1);
    const slot = schedules.of('tags')!.nextAt;
    expect(await markDue(schedules, changed, slot.getTime())).toBe(true);
    expect(schedules.of('tags')).toMatchObject({ expression: '40 */12 * * *', dueSince: slot });
  });

  test('keeps what is due when a schedule or its time zone changes', async () => {
    const schedules = kept();
    await markDue(schedules, crons, NOON + 1);
    const before = schedules.of('tags')?.dueSince;
    expect(
      await markDue(schedules, cronsOf({ ...SCHEDULES, tags: '0 3 * * *' }, 'Europe/Berlin'), NOON + MINUTE),
    ).toBe(false);
    expect(schedules.of('tags')).toMatchObject({
      expression: '0 3 * * *',
      dueSince: before,
      nextAt: new Date('2026-03-03T02:00:00Z'),
    });
  });
});
