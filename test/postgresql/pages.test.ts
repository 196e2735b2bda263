import { expect, test } from 'vitest';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { daemonHouse } from '../support/daemon.ts';
import { count } from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

test('a daemon reads single pages, learns from them, keeps that over a restart, and misses nothing', async () => {
  const house = await daemonHouse({
    readPages: true,
    limits: { pageSize: 10, perDay: 400, reserved: 40 },
    pollMs: 5 * MINUTE,
    schedules: { conversations: '0 3 * * *' },
    sandbox: { conversations: [40, 15], perDay: 400 },
  });
  const { clock, database, events } = house;
  const { world } = house.sandbox;
  const mirror = mirrorOn(database);
  const walks = (): number =>
    events.filter((event) => event.kind === 'list-begun' && event.key.list === 'conversations').length;
  const pages = async (): Promise<number> => await count(database, `requests WHERE reason = 'page'`);
  const work = async (hours: number): Promise<void> => {
    for (let hour = 0; hour < hours; hour += 1) {
      await clock.sleep(HOUR);
      for (const { id, conversations } of world.inboxes.values()) {
        const { order } = conversations;
        world.addConversation(id);
        world.setStatus(id, order[(hour * 37) % order.length]!, `step ${hour}`);
        if (hour === 1) world.removeConversation(id, order[7]!);
      }
    }
  };

  const first = await house.start();
  await work(4);
  await first.stop();
  const learned = await mirror.rates();
  const readBefore = await pages();
  expect(walks()).toBe(2);
  expect(readBefore).toBeGreaterThan(20);
  expect(learned.length).toBeGreaterThan(3);

  const second = await house.start();
  await work(2);
  const quietSince = clock.now();
  const oldest = async (): Promise<number> =>
    Math.min(...[...(await mirror.bookmarks.oldestReadings()).values()].map((at) => at.getTime()));
  const suspects = async (): Promise<number> =>
    await count(database, `conversations WHERE missing_since IS NOT NULL AND deleted_at IS NULL`);
  while ((await oldest()) < quietSince || (await suspects()) > 0) {
    await clock.sleep(HOUR);
    expect(clock.now() - quietSince, 'every page is read, each suspect decided in a day').toBeLessThan(
      25 * HOUR,
    );
  }
  await second.stop();
  expect(walks(), 'the bookmarks have survived').toBe(2);
  expect(await pages()).toBeGreaterThan(readBefore + 10);
  const later = new Map((await mirror.rates()).map(({ name, hours }) => [name, hours]));
  for (const { name, hours } of learned) expect(later.get(name), name).toBeGreaterThan(0.9 * hours);
  expect(await count(database, `conversations WHERE deleted_at IS NOT NULL`)).toBe(4);
  await expectEqualToService(house);
});
