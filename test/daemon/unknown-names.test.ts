import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { daemonHouse, type TestHouse } from '../support/daemon.ts';
import { count } from '../support/rows.ts';

const SMALL = { sandbox: { conversations: [25, 15] }, limits: { pageSize: 20 }, pollMs: 10_000 };

/** A house whose daemon has just read everything; users and tags are due in hours. */
async function readHouse(readPages: boolean): Promise<TestHouse & { readonly inbox: string }> {
  const house = await daemonHouse({ ...SMALL, readPages });
  await house.start();
  await house.clock.sleep(30 * MINUTE);
  const [inbox = ''] = house.sandbox.world.inboxes.keys();
  return { ...house, inbox };
}

function conversationsOf({ sandbox, inbox }: TestHouse & { readonly inbox: string }): string[] {
  return [...sandbox.world.inbox(inbox).conversations.keys()];
}

async function readings({ database }: TestHouse, list: 'users' | 'tags', inbox: string): Promise<number> {
  return await count(
    database,
    `sweeps WHERE list = $1 AND inbox_id = $2 AND state = 'complete'`,
    list,
    inbox,
  );
}

test.each([
  ['whole lists', false],
  ['single pages', true],
])('by %s, a new user and a new tag are read minutes after conversations name them', async (_, pages) => {
  const house = await readHouse(pages);
  const { world } = house.sandbox;
  const user = world.addUser(house.inbox);
  const tag = world.addTag(house.inbox);
  const [first = '', second = ''] = conversationsOf(house);
  world.assign(house.inbox, first, user.id);
  world.tag(house.inbox, second, tag.id);
  await house.clock.sleep(20 * MINUTE);
  expect(await count(house.database, `inbox_users WHERE id = $1`, user.id)).toBe(1);
  expect(await count(house.database, `inbox_tags WHERE id = $1`, tag.id)).toBe(1);
});

test('a user whom no list shows costs one reading, however often conversations name them', async () => {
  const house = await readHouse(false);
  const { world } = house.sandbox;
  const ghost = world.removeUser(house.inbox, world.addUser(house.inbox).id).id;
  const before = await readings(house, 'users', house.inbox);
  for (const id of conversationsOf(house).slice(0, 3)) {
    world.conversation(house.inbox, id).assignee = { assignee_type: 'user', assignee_id: ghost };
    await house.clock.sleep(HOUR + MINUTE);
  }
  expect(await readings(house, 'users', house.inbox)).toBe(before + 1);
});

test('a list is read for unknown names once an hour at most', async () => {
  const house = await readHouse(false);
  const { world } = house.sandbox;
  const before = await readings(house, 'users', house.inbox);
  for (const id of conversationsOf(house).slice(0, 8)) {
    const ghost = world.addUser(house.inbox).id;
    world.assign(house.inbox, id, ghost);
    world.removeUser(house.inbox, ghost);
    await house.clock.sleep(15 * MINUTE);
  }
  const more = (await readings(house, 'users', house.inbox)) - before;
  expect(more).toBeGreaterThan(0);
  expect(more).toBeLessThanOrEqual(2);
});

test('a name that comes within the hour after such a reading is there after the hour', async () => {
  const house = await readHouse(false);
  const { world } = house.sandbox;
  const users = [];
  for (const id of conversationsOf(house).slice(0, 2)) {
    users.push(world.addUser(house.inbox).id);
    world.assign(house.inbox, id, users.at(-1)!);
    await house.clock.sleep(20 * MINUTE);
  }
  const known = (id = ''): Promise<number> => count(house.database, `inbox_users WHERE id = $1`, id);
  expect([await known(users[0]), await known(users[1])]).toEqual([1, 0]);
  await house.clock.sleep(HOUR);
  expect(await known(users[1])).toBe(1);
});

test('a list is read once for unknown names, even if the clock is then set back', async () => {
  const house = await readHouse(true);
  const { world } = house.sandbox;
  const [first = ''] = conversationsOf(house);
  world.assign(house.inbox, first, world.addUser(house.inbox).id);
  const before = await readings(house, 'users', house.inbox);
  await house.clock.sleep(20 * MINUTE);
  expect(await readings(house, 'users', house.inbox)).toBe(before + 1);
  house.clock.setWall(-2 * HOUR);
  await house.clock.sleep(HOUR);
  expect(await readings(house, 'users', house.inbox)).toBe(before + 1);
});
