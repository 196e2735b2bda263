import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../src/core/clock.ts';
import { oldestHours, pagesHouse } from '../support/pages-house.ts';
import { count, firstInbox } from '../support/rows.ts';

test.each([
  ['90 pages beside four of 6', { perDay: 200, reserved: 10 }, [900, 60, 60, 60, 60]],
  ['42 pages beside seven of 2', { perDay: 150, reserved: 8 }, [420, 20, 20, 20, 20, 20, 20, 20]],
])('a long list whose rows are in no order is read each day: %s', async (_pages, limits, conversations) => {
  const house = await pagesHouse({
    limits: { pageSize: 10, ...limits },
    stretchable: ['users', 'tags'],
    sandbox: { conversations, listOrder: 'mixed', activityPerHour: 1 },
  });
  const { clock } = house;
  await house.start();
  await clock.sleep(2 * DAY);
  let worst = 0;
  for (let hour = 48; hour < 5 * 24; hour += 1) {
    await clock.sleep(HOUR);
    for (const { list, completeAsOf } of (await house.status()).lists)
      if (list === 'conversations') worst = Math.max(worst, clock.now() - (completeAsOf?.getTime() ?? 0));
  }
  expect(worst / HOUR).toBeLessThan(30);
  const walks = await count(house.database, "sweeps WHERE list = 'conversations' AND state = 'complete'");
  expect(walks, 'others are walked to spare').toBeGreaterThan(1.4 * 5 * conversations.length);
});

test('a list that answers 500 for days keeps no other one from being walked to spare', async () => {
  const house = await pagesHouse({
    limits: { pageSize: 10, perDay: 150, reserved: 8 },
    stretchable: ['users', 'tags'],
    sandbox: { conversations: [40, 40, 40, 40, 40, 40], listOrder: 'mixed', activityPerHour: 1 },
  });
  const { clock, database, sandbox } = house;
  await house.start();
  await clock.sleep(DAY);
  const { id } = firstInbox(sandbox);
  sandbox.script(({ path }) =>
    path.includes(`/${id}/conversations`) ? { status: 500, body: '{}' } : undefined,
  );
  await clock.sleep(DAY);
  const walks = `sweeps WHERE list = 'conversations' AND state = 'complete'`;
  const before = await count(database, walks);
  await clock.sleep(DAY);
  // At their slots alone it would be 5.
  expect((await count(database, walks)) - before).toBeGreaterThan(12);
});

test('a long list in no order that is refused for an hour each night is still read each day', async () => {
  const house = await pagesHouse({
    limits: { pageSize: 10, perDay: 200, reserved: 10 },
    stretchable: ['users', 'tags'],
    sandbox: { conversations: [400, 40, 40, 40, 40, 40, 40], listOrder: 'mixed', activityPerHour: 1 },
  });
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(2 * DAY);
  const { id } = firstInbox(sandbox);
  sandbox.script(({ path }) =>
    path.includes(`/${id}/conversations?`) && new Date(clock.now()).getUTCHours() === 2
      ? { status: 403, body: '{}' }
      : undefined,
  );
  let worst = 0;
  for (let hour = 0; hour < 3 * 24; hour += 1) {
    await clock.sleep(HOUR);
    for (const { list, completeAsOf } of (await house.status()).lists)
      if (list === 'conversations') worst = Math.max(worst, clock.now() - (completeAsOf?.getTime() ?? 0));
  }
  expect(worst / HOUR).toBeLessThan(36);
});

test('spare walks of short lists in no order leave a long list in order its pages', async () => {
  const house = await pagesHouse({
    limits: { pageSize: 10, perDay: 200, reserved: 10 },
    stretchable: ['users', 'tags'],
    sandbox: { conversations: [600, 20, 20, 20, 20, 20, 20, 20, 20], activityPerHour: 1 },
  });
  const { clock, database, sandbox } = house;
  await house.start();
  await clock.sleep(DAY);
  // The page tokens of the other lists seem to be positions: they are read whole for a week.
  const others = `inbox_id <> '${firstInbox(sandbox).id}'`;
  const lostAt = new Date(clock.now()).toISOString();
  await database.execute(
    `UPDATE bookmark_lists SET lost_at = '${lostAt}', lost_cause = 'positions' WHERE ${others}`,
  );
  await clock.sleep(DAY);
  const walks = `sweeps WHERE list = 'conversations' AND state = 'complete' AND ${others}`;
  const before = await count(database, walks);
  let [worst, late] = [0, 0];
  for (let hour = 0; hour < 3 * 24; hour += 1) {
    await clock.sleep(HOUR);
    worst = Math.max(worst, await oldestHours(house));
    late += (await house.late()).some((list) => list.startsWith('conversations')) ? 1 : 0;
  }
  expect(worst).toBeLessThan(40);
  expect(late).toBeLessThan(24);
  expect((await count(database, walks)) - before, 'others are walked to spare').toBeGreaterThan(1.4 * 3 * 8);
});

test('pages of short lists in order leave a long list in no order what its walk needs', async () => {
  const house = await pagesHouse({
    limits: { pageSize: 10, perDay: 200, reserved: 10 },
    stretchable: ['users', 'tags'],
    sandbox: { conversations: [1300, 50], activityPerHour: 1 },
  });
  const { clock, database, sandbox } = house;
  await house.start();
  await clock.sleep(DAY);
  const { id } = firstInbox(sandbox);
  const lostAt = new Date(clock.now()).toISOString();
  await database.execute(
    `UPDATE bookmark_lists SET lost_at = '${lostAt}', lost_cause = 'positions' WHERE inbox_id = '${id}'`,
  );
  await clock.sleep(DAY);
  let worst = 0;
  for (let hour = 0; hour < 4 * 24; hour += 1) {
    await clock.sleep(HOUR);
    for (const { list, inboxId, completeAsOf } of (await house.status()).lists)
      if (list === 'conversations' && inboxId === id)
        worst = Math.max(worst, clock.now() - (completeAsOf?.getTime() ?? 0));
  }
  expect(worst / HOUR).toBeLessThan(60);
});
