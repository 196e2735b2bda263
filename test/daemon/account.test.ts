import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import type { World } from '../../src/sandbox/world/world.ts';
import { daemonHouse, type TestHouse } from '../support/daemon.ts';
import { count } from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

const SMALL = { sandbox: { conversations: [25, 15] }, limits: { pageSize: 20 } };

/** Puts another account behind the address. @returns a function that puts the first one back */
function switchAccount(world: World): () => void {
  const ids = [...world.inboxes.keys()];
  for (const id of ids) world.removeInbox(id);
  for (let nth = 0; nth < 3; nth++) world.addConversation(world.addInbox().id);
  return () => {
    for (const id of world.inboxes.keys()) world.removeInbox(id);
    for (const id of ids) world.restoreInbox(id);
  };
}

const said = ({ logged }: TestHouse, text: string): number =>
  logged.filter(({ msg }) => msg.includes(text)).length;

test('the daemon parks behind another account: seven requests in four hours, one log line, no row', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox, database } = house;
  const first = await house.start();
  await clock.sleep(50 * MINUTE);
  const before = await count(database, 'changes');
  const restore = switchAccount(sandbox.world);
  await clock.sleep(15 * MINUTE);
  const from = sandbox.arrivals.length;
  await clock.sleep(2 * HOUR);
  await first.stop();
  await house.start();
  await clock.sleep(2 * HOUR);
  expect(sandbox.arrivals.length - from).toBeGreaterThanOrEqual(5);
  expect(sandbox.arrivals.length - from).toBeLessThanOrEqual(7);
  expect((await house.status()).otherAccount).toMatchObject({
    cause: expect.stringContaining('another account') as string,
  });
  expect(said(house, 'the service shows another account'), 'once for each start').toBe(2);
  expect(await count(database, 'inboxes')).toBe(2);
  expect(await count(database, 'inboxes WHERE missing_since IS NOT NULL')).toBe(0);
  expect(await count(database, 'changes')).toBe(before);

  restore();
  await clock.sleep(62 * MINUTE);
  expect((await house.status()).otherAccount).toBeNull();
  expect(said(house, 'requests can be sent again; resuming')).toBe(1);
  await clock.sleep(30 * MINUTE);
  expect(await house.late()).toEqual([]);
  await expectEqualToService(house);
});

test.each([
  ['404', { status: 404, body: '{}' }],
  ['200 and no list', { status: 200, body: '{}' }],
])(
  'another account that turns into answers of %s costs few requests, and ends by itself',
  async (_, answer) => {
    const house = await daemonHouse(SMALL);
    const { clock, sandbox, database } = house;
    await house.start();
    await clock.sleep(50 * MINUTE);
    const restore = switchAccount(sandbox.world);
    await clock.sleep(HOUR);
    expect((await house.status()).otherAccount).not.toBeNull();
    sandbox.script(() => answer);
    const [from, lines] = [sandbox.arrivals.length, house.said().length];
    await clock.sleep(4 * HOUR);
    expect(sandbox.arrivals.length - from).toBeLessThanOrEqual(20);
    expect(house.said().length - lines).toBeLessThanOrEqual(40);
    expect(await count(database, 'inboxes WHERE missing_since IS NOT NULL')).toBe(0);

    restore();
    sandbox.script(undefined);
    await clock.sleep(90 * MINUTE);
    expect(await house.status()).toMatchObject({ otherAccount: null, outage: null });
    expect(await house.late()).toEqual([]);
    await expectEqualToService(house);
  },
);

test('one wrong answer of the inboxes parks the daemon for minutes, and writes no row', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox, database } = house;
  await house.start();
  await clock.sleep(50 * MINUTE);
  const swap = (): void => {
    const [one, other] = [...sandbox.world.inboxes.values()];
    [one!.email, other!.email] = [other!.email, one!.email];
  };
  const before = await count(database, 'changes');
  swap();
  const wrongFrom = clock.now();
  while ((await house.status()).otherAccount === null && clock.now() < wrongFrom + HOUR)
    await clock.sleep(MINUTE);
  swap();
  const { otherAccount } = await house.status();
  expect(otherAccount!.until.getTime() - otherAccount!.since.getTime()).toBe(5 * MINUTE);
  await clock.sleep(6 * MINUTE);
  expect((await house.status()).otherAccount).toBeNull();
  expect(await count(database, 'changes')).toBe(before);
  await expectEqualToService(house);
});

test('a new key that leads to the mirror’s account ends the wait at once', async () => {
  const house = await daemonHouse({ ...SMALL, sandbox: { ...SMALL.sandbox, forbiddenKeys: [] } });
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(50 * MINUTE);
  const restore = switchAccount(sandbox.world);
  // The tests are rare by then: the next one is more than 3 minutes away.
  await clock.sleep(35 * MINUTE);
  expect((await house.status()).otherAccount).not.toBeNull();
  const { until } = (await house.status()).otherAccount!;
  expect(until.getTime() - clock.now()).toBeGreaterThan(4 * MINUTE);
  restore();
  await house.database.execute(`UPDATE gate_state SET account_access = 'an earlier key'`);
  await clock.sleep(3 * MINUTE);
  expect((await house.status()).otherAccount).toBeNull();
});

test('an order with consent changes the mirror to the account; one without it fails', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox, database } = house;
  await house.start();
  await clock.sleep(20 * MINUTE);
  switchAccount(sandbox.world);
  const refused = await house.order();
  await clock.sleep(3 * MINUTE);
  const accepted = await house.order({ acceptAccount: true });
  await clock.sleep(3 * MINUTE);
  expect(await database.query(`SELECT id, state FROM sync_requests WHERE ordered ORDER BY id`)).toEqual([
    { id: refused, state: 'failed' },
    { id: accepted, state: 'done' },
  ]);
  expect((await house.status()).otherAccount).toBeNull();
  for (const { id } of sandbox.world.inboxes.values())
    expect(await count(database, 'conversations WHERE inbox_id = $1', id)).toBe(1);
});
