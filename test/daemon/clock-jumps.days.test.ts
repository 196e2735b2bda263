import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { TestClock } from '../support/clock.ts';
import { daemonHouse, intoOutage, type TestHouse } from '../support/daemon.ts';
import { count } from '../support/rows.ts';
import { sized } from '../support/histories.ts';
import { oldestHours, pagesHouse } from '../support/pages-house.ts';
import { expectEqualToService } from '../support/truth.ts';

const SMALL = { sandbox: { conversations: [25, 15] }, limits: { pageSize: 20 } };

/** One request for each page of every list. */
const WHOLE = 1 + 2 + 2 + 3;
const CONVERSATIONS = 3;

/** Requests that arrive within `span` ms of monotonic time, which no setting of the clock changes. */
async function requestsIn(house: TestHouse, span: number): Promise<number> {
  const from = house.sandbox.arrivals.length;
  await house.clock.sleep(span);
  return house.sandbox.arrivals.length - from;
}

/** The longest time between two sweeps of the same conversations, in minutes of the service's clock. */
function longestGap(house: TestHouse, inboxes: number): number {
  const first = house.sandbox.arrivals
    .filter(({ path }) => /conversations\?limit=\d+$/.test(path))
    .map(({ at }) => at / MINUTE);
  const gaps = first.slice(inboxes).map((at, index) => at - first[index]!);
  return Math.max(...gaps);
}

describe.each([
  ['back', -3 * HOUR],
  ['forward', 3 * HOUR],
])('a clock jump three hours %s', (_way, jump) => {
  test('while the daemon runs delays lists by at most one pass and wastes at most one pass', async () => {
    const house = await daemonHouse(SMALL);
    const { clock } = house;
    await house.start();
    await clock.sleep(2 * HOUR + 7 * MINUTE);
    clock.setWall(jump);
    // A jump of whole hours keeps the quarter-hour slots. One more pass makes up for the skipped slots.
    expect(await requestsIn(house, 2 * HOUR)).toBeLessThanOrEqual(8 * CONVERSATIONS + 3 + WHOLE);
    expect(longestGap(house, 2)).toBeLessThanOrEqual(31);
    expect(await house.late()).toEqual([]);
    expect(house.said(40)).toEqual([]);
  });

  test('while the machine is off makes the daemon read every list once, then as scheduled', async () => {
    const house = await daemonHouse(SMALL);
    const { clock } = house;
    const first = await house.start();
    await clock.sleep(2 * HOUR + 7 * MINUTE);
    await first.stop();
    clock.reboot(5 * MINUTE, jump);
    await house.start();
    expect(await requestsIn(house, 2 * MINUTE)).toBeLessThanOrEqual(WHOLE);
    expect(await requestsIn(house, 2 * HOUR)).toBeLessThanOrEqual(8 * CONVERSATIONS + 4 + 4);
    expect(longestGap(house, 2)).toBeLessThanOrEqual(31);
    expect(await house.late()).toEqual([]);
  });

  test('while an order is under way does not make the daemon read its lists again', async () => {
    const house = await daemonHouse({
      sandbox: { conversations: [120, 40] },
      limits: { pageSize: 10 },
      pollMs: 10_000,
    });
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(5 * MINUTE);
    const from = sandbox.arrivals.length;
    const id = await house.order({ kind: 'resync' });
    await clock.sleep(18_000);
    expect((await mirrorOn(house.database).orders.read(id))?.state).toBe('running');
    clock.setWall(jump);
    await clock.sleep(4 * MINUTE);
    expect(await mirrorOn(house.database).orders.read(id)).toMatchObject({ state: 'done', error: null });
    expect(sandbox.arrivals.length - from).toBeLessThanOrEqual(1 + 2 + 2 + 12 + 4 + 16);
    expect(await count(house.database, `sweeps WHERE state IN ('running', 'paused')`)).toBe(0);
    await expectEqualToService(house);
  });

  test('while the machine is off does not make an order read its pages again', async () => {
    const house = await daemonHouse({
      sandbox: { conversations: [120, 40] },
      limits: { pageSize: 10 },
      pollMs: 10_000,
    });
    const { clock, sandbox, database } = house;
    const first = await house.start();
    await clock.sleep(5 * MINUTE);
    const from = sandbox.arrivals.length;
    const id = await house.order({ kind: 'resync', lists: ['conversations'] });
    await clock.sleep(10_000);
    first.killSwitch.throw();
    clock.reboot(MINUTE, jump);
    await house.start();
    await clock.sleep(2 * MINUTE);
    expect(await mirrorOn(database).orders.read(id)).toMatchObject({ state: 'done', error: null });
    const pages = await count(database, `requests WHERE reason = 'resync' AND path LIKE '%/conversations%'`);
    // Two requests may be in flight at the kill. With the clock ahead, the schedule may read both lists again.
    expect(pages).toBeLessThanOrEqual(12 + 4 + 2);
    const read = sandbox.arrivals.slice(from).filter(({ path }) => path.includes('/conversations'));
    expect(read.length).toBeLessThanOrEqual(12 + 4 + 2 + (jump > 0 ? 12 + 4 : 0));
    await expectEqualToService(house);
  });

  test('while the machine is off does not prolong an outage', async () => {
    const house = await daemonHouse(SMALL);
    const { clock, sandbox } = house;
    const first = await intoOutage(house, 30);
    await first.stop();
    clock.reboot(MINUTE, jump);
    sandbox.script(undefined);
    await house.start();
    await clock.sleep(16 * MINUTE);
    expect((await house.status()).outage).toBeNull();
    expect(await house.late()).toEqual([]);
  });

  test('while the service is out of reach shifts the outage by the same time', async () => {
    const house = await daemonHouse(SMALL);
    const { clock, sandbox } = house;
    await intoOutage(house, 30);
    const { outage } = await house.status();
    clock.setWall(jump);
    expect(await requestsIn(house, 2 * MINUTE)).toBeLessThanOrEqual(4);
    const moved = (await house.status()).outage;
    expect(Math.abs(moved!.since.getTime() - outage!.since.getTime() - jump)).toBeLessThan(1000);
    sandbox.script(undefined);
    await clock.sleep(16 * MINUTE);
    expect((await house.status()).outage).toBeNull();
    await clock.sleep(2 * MINUTE);
    expect(await house.late()).toEqual([]);
  });

  test('while the budget is spent neither unlocks requests nor delays them', async () => {
    const house = await daemonHouse({
      ...SMALL,
      limits: { pageSize: 20, perDay: 40, reserved: 8 },
      pollMs: 15 * MINUTE,
    });
    const { clock, sandbox } = house;
    await house.start();
    for (let orders = 0; orders < 4; orders += 1) {
      await clock.sleep(HOUR);
      await house.order({ kind: 'resync' });
    }
    await clock.sleep(2 * HOUR);
    expect(sandbox.arrivals).toHaveLength(40);
    clock.setWall(jump);
    await clock.sleep(12 * HOUR);
    expect(sandbox.arrivals).toHaveLength(40);
    await clock.sleep(12 * HOUR);
    expect(sandbox.arrivals.length).toBeGreaterThan(48);
  });
});

test('a clock that jumps back and forward three times costs at most one pass a jump', async () => {
  const house = await daemonHouse(SMALL);
  const { clock } = house;
  await house.start();
  await clock.sleep(HOUR + 7 * MINUTE);
  for (let times = 0; times < 3; times += 1) {
    clock.setWall(-3 * HOUR);
    expect(await requestsIn(house, 30 * MINUTE)).toBeLessThanOrEqual(2 * CONVERSATIONS + WHOLE);
    clock.setWall(3 * HOUR);
    expect(await requestsIn(house, 30 * MINUTE)).toBeLessThanOrEqual(2 * CONVERSATIONS + WHOLE);
  }
  expect(longestGap(house, 2)).toBeLessThanOrEqual(31);
});

test('a clock that jumps 30 hours back does not stop the reading of single pages', async () => {
  const house = await pagesHouse();
  const { clock, database } = house;
  await house.start();
  await clock.sleep(sized(6, 30) * HOUR);
  clock.setWall(-30 * HOUR);
  for (let times = 0; times < 6; times += 1) expect(await requestsIn(house, 6 * HOUR)).toBeGreaterThan(50);
  expect(await oldestHours(house)).toBeLessThan(25);
  expect(await count(database, 'rates WHERE hours < 0 OR events < 0')).toBe(0);
});

test('a clock 400 days ahead in a part of the first walk keeps no page from being read again', async () => {
  const house = await pagesHouse({ pollMs: 15 * SECOND });
  const { clock, database } = house;
  clock.setWall(400 * DAY);
  await house.start();
  await clock.sleep(25 * SECOND);
  const walked = await count(
    database,
    `sweep_pages JOIN sweeps ON sweeps.id = sweep_id WHERE list = 'conversations'`,
  );
  expect(walked).toBeGreaterThan(3);
  clock.setWall(-400 * DAY);
  await clock.sleep(15 * MINUTE);
  const ahead = `bookmarks WHERE read_at > $1`;
  expect(await count(database, ahead, new Date(clock.now()).toISOString())).toBe(0);
  const from = new Date(clock.now()).toISOString();
  await clock.sleep(26 * HOUR);
  expect(await count(database, `bookmarks WHERE read_at < $1`, from)).toBe(0);
  expect(await count(database, ahead, new Date(clock.now()).toISOString())).toBe(0);
});

test.each([
  ['the 23-hour day in spring', '2026-03-28T23:00:00Z', 23],
  ['the 25-hour day in autumn', '2026-10-24T22:00:00Z', 25],
] as const)('on %s in Berlin the daemon keeps to the wall clock', async (_day, midnight, hours) => {
  const clock = new TestClock(Date.parse(midnight) - 30_000);
  const house = await daemonHouse({
    clock,
    sandbox: { conversations: [8], usersPerInbox: 2, tagsPerInbox: 2 },
    timezone: 'Europe/Berlin',
    schedules: { users: '30 2 * * *' },
    pollMs: 5 * MINUTE,
  });
  await house.start();
  await clock.sleep(30_000 - 1000);
  const before = await house.database.query<{ last: number }>(`SELECT max(id) AS last FROM sweeps`);
  await clock.sleep(hours * HOUR);
  const ran = async (list: string): Promise<number> =>
    await count(
      house.database,
      `sweeps WHERE list = $1 AND id > $2 AND reason = 'schedule' AND state = 'complete'`,
      list,
      before[0]!.last,
    );
  expect({
    inboxes: await ran('inboxes'),
    conversations: await ran('conversations'),
    tags: await ran('tags'),
    users: await ran('users'),
  }).toEqual({ inboxes: hours, conversations: 4 * hours, tags: 4, users: hours === 23 ? 0 : 2 });
});
