import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { listId } from '../../src/core/lists.ts';
import type { PassSpec } from '../../src/mirror/passes/passes.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { TestHouse } from '../support/daemon.ts';
import { pagesHouse } from '../support/pages-house.ts';
import { nthInbox } from '../support/rows.ts';

/** Seven lists in no order, which are walked to spare: several requests wait for a credit at any time. */
async function busyHouse(sandbox: Partial<SandboxOptions> = { listOrder: 'mixed' }): Promise<TestHouse> {
  const house = await pagesHouse({
    sandbox: {
      conversations: [400, 350, 60, 30, 30, 50, 50],
      perDay: 500,
      activityPerHour: 2,
      ...sandbox,
    },
    limits: { pageSize: 10, perDay: 500, reserved: 25 },
    pollMs: MINUTE,
    stretchable: ['users', 'tags'],
  });
  await house.start();
  await house.clock.sleep(DAY);
  return house;
}

/** Places an order every six minutes for some hours. @returns how many were placed */
async function orderOften(house: TestHouse, hours: number, spec: Partial<PassSpec>): Promise<number> {
  const placed = hours * 10;
  for (let order = 0; order < placed; order += 1) {
    await house.order(spec);
    await house.clock.sleep(6 * MINUTE);
  }
  return placed;
}

/** The sweeps of the list of inboxes, and how many of them were under way at a time, at most. */
function sweepsOfInboxes({ events }: TestHouse): { complete: number; atOnce: number } {
  let [complete, running, atOnce] = [0, 0, 0];
  for (const event of events) {
    if (event.kind === 'list-begun' && listId(event.key) === 'inboxes')
      atOnce = Math.max(atOnce, (running += 1));
    if (event.kind !== 'list-done' || listId(event.report.key) !== 'inboxes') continue;
    running -= 1;
    if (event.report.outcome === 'complete') complete += 1;
  }
  return { complete, atOnce };
}

test('orders each few minutes that do not read the list of inboxes leave it its readings', async () => {
  const house = await busyHouse();
  const before = sweepsOfInboxes(house).complete;
  const placed = await orderOften(house, 12, { lists: ['tags'], inboxId: nthInbox(house.sandbox, 3).id });
  expect(sweepsOfInboxes(house).complete - before).toBeGreaterThanOrEqual(8);
  const { lists, openPasses } = await house.status();
  expect(openPasses.length, `of ${placed} orders`).toBeLessThanOrEqual(1);
  const { completeAsOf } = lists.find(({ list }) => list === 'inboxes')!;
  expect(house.clock.now() - completeAsOf!.getTime()).toBeLessThan(3 * HOUR);
});

test('an order that must read the inboxes, which it does not name, stops their scheduled sweep', async () => {
  const house = await busyHouse();
  const before = sweepsOfInboxes(house).complete;
  await orderOften(house, 6, { lists: ['tags'], inboxId: '4711' });
  const { complete, atOnce } = sweepsOfInboxes(house);
  expect(complete - before).toBeGreaterThanOrEqual(50);
  expect(atOnce).toBe(1);
});

test('orders each few minutes leave a long list in order its pages', async () => {
  const house = await busyHouse({});
  const { clock, database, sandbox } = house;
  const { id } = nthInbox(sandbox, 1);
  const lostAt = new Date(clock.now()).toISOString();
  await database.execute(
    `UPDATE bookmark_lists SET lost_at = '${lostAt}', lost_cause = 'positions' WHERE inbox_id <> '${id}'`,
  );
  await clock.sleep(DAY);
  const from = sandbox.arrivals.length;
  await orderOften(house, 24, { lists: ['tags'], inboxId: nthInbox(sandbox, 3).id });
  const readings = sandbox.arrivals.slice(from).filter(({ path }) => path.includes(`/${id}/conversations?`));
  expect(readings.length, 'of 35 pages').toBeGreaterThan(35);
});
