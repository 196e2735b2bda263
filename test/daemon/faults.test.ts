import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import { MirrorError } from '../../src/core/errors.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { daemonHouse } from '../support/daemon.ts';
import { firstInbox } from '../support/rows.ts';
import { addTrigger, dropTrigger, type Trigger } from '../support/triggers.ts';

test('an unknown error of one list is logged with its stack and rests that list alone', async () => {
  const house = await daemonHouse({ sandbox: { conversations: [5, 5] } });
  const { id } = firstInbox(house.sandbox);
  const running = await house.start();
  const { applyPage } = running.writer;
  let isBroken = true;
  Object.assign(running.writer, {
    applyPage: (...page: Parameters<typeof applyPage>) => {
      const [{ list, inboxId }] = page;
      if (isBroken && list === 'tags' && inboxId === id) throw new TypeError('a bug of one list');
      return applyPage(...page);
    },
  });
  await house.clock.sleep(2 * HOUR);
  const tries = house.sandbox.arrivals.filter(({ path }) => path.startsWith(`/v1/inboxes/${id}/tags`));
  expect(tries.length).toBeGreaterThan(0);
  // At once, then after 15, 30 and 60 minutes.
  expect(tries.length).toBeLessThanOrEqual(4);
  expect((await house.late()).map((late) => late.split(':')[0])).toEqual([`tags ${id}`]);
  expect(house.said(50)).toContainEqual(
    expect.objectContaining({
      list: `tags/${id}`,
      err: expect.objectContaining({
        message: 'a bug of one list',
        stack: expect.stringContaining('faults.test.ts'),
      }),
    }),
  );
  isBroken = false;
  await house.clock.sleep(12 * HOUR + MINUTE);
  expect(await house.late()).toEqual([]);
  await running.stop();
  expect(await running.ended).toBeUndefined();
});

test('a database that takes no page, as on a full disk, is a failure until it takes one', async () => {
  const house = await daemonHouse({ sandbox: { conversations: [5] } });
  const running = await house.start();
  await house.clock.sleep(20 * MINUTE);
  const { applyPage } = running.writer;
  let isFull = true;
  Object.assign(running.writer, {
    applyPage: async (...page: Parameters<typeof applyPage>) => {
      if (isFull) throw new MirrorError('DATABASE', 'the disk is full');
      return await applyPage(...page);
    },
  });
  await house.clock.sleep(15 * MINUTE);
  const failures = new Set<string | null>();
  for (let seconds = 0; seconds < 300; seconds += 1) {
    await house.clock.sleep(SECOND);
    failures.add(running.failure());
  }
  expect([...failures]).toEqual(['the disk is full']);
  isFull = false;
  await house.clock.sleep(5 * MINUTE);
  expect(running.failure()).toBeNull();
  expect(await house.late()).toEqual([]);
  await running.stop();
});

test('a database that fails for seconds as a list ends is a failure until the list is complete', async () => {
  const house = await daemonHouse({ pollMs: SECOND, sandbox: { conversations: [5] } });
  const running = await house.start();
  await house.clock.sleep(20 * MINUTE);
  const { complete } = running.writer.sweeps;
  let failures = 0;
  Object.assign(running.writer.sweeps, {
    complete: async (...sweep: Parameters<typeof complete>) => {
      failures += 1;
      if (failures <= 3) throw new MirrorError('DATABASE', 'the server restarts');
      await complete.apply(running.writer.sweeps, sweep);
    },
  });
  const seen: boolean[] = [];
  for (let seconds = 0; seconds < 15 * 60; seconds += 1) {
    await house.clock.sleep(SECOND);
    seen.push(running.failure() !== null);
  }
  expect(seen).toContain(true);
  // A probe of Kubernetes restarts the process after two minutes.
  expect(seen.filter(Boolean).length).toBeLessThanOrEqual(30);
  await running.stop();
});

describe('another program’s trigger that refuses', () => {
  const refusing = (table: string, verb: Trigger['verb']): Trigger => {
    return { name: 'refuse', when: 'BEFORE', verb, table, refuses: '1 = 1' };
  };

  test('what the loop writes neither ends the daemon nor fills its log, and sends nothing', async () => {
    const house = await daemonHouse({ sandbox: { conversations: [5] } });
    const running = await house.start();
    await house.clock.sleep(20 * MINUTE);
    const trigger = refusing('schedules', 'UPDATE');
    await addTrigger(house.database, trigger);
    await house.clock.sleep(HOUR);
    const { length } = house.sandbox.arrivals;
    await house.clock.sleep(3 * HOUR);
    expect(house.sandbox.arrivals).toHaveLength(length);
    expect(running.failure()).toMatch(/refuses a statement: refused /);
    expect(house.said(50)).toEqual([
      expect.objectContaining({
        msg: expect.stringContaining('the database cannot be used'),
        cause: expect.stringContaining('a trigger, rule, constraint or index'),
      }),
    ]);
    await dropTrigger(house.database, trigger);
    await house.clock.sleep(HOUR);
    expect(running.failure()).toBeNull();
    expect(await house.late()).toEqual([]);
    await running.stop();
    expect(await running.ended).toBeUndefined();
  });

  test('an order leaves the schedules alone, and the order is carried out later', async () => {
    const house = await daemonHouse({ sandbox: { conversations: [5] } });
    const running = await house.start();
    await house.clock.sleep(20 * MINUTE);
    const trigger = refusing('sync_requests', 'UPDATE');
    await addTrigger(house.database, trigger);
    const id = await house.order();
    await house.clock.sleep(HOUR);
    expect(await house.late()).toEqual([]);
    expect(house.said(50)).toEqual([
      expect.objectContaining({ order: id, cause: expect.stringContaining('refuses a statement') }),
    ]);
    await dropTrigger(house.database, trigger);
    await house.clock.sleep(20 * MINUTE);
    expect(await mirrorOn(house.database).orders.read(id)).toMatchObject({ state: 'done' });
    await running.stop();
    expect(await running.ended).toBeUndefined();
  });

  test('the rows of one list rests that list alone', async () => {
    const house = await daemonHouse({ sandbox: { conversations: [5] } });
    const { id } = firstInbox(house.sandbox);
    const trigger = refusing('inbox_tags', 'INSERT');
    await addTrigger(house.database, trigger);
    const running = await house.start();
    await house.clock.sleep(2 * HOUR);
    const tries = house.sandbox.arrivals.filter(({ path }) => path.startsWith(`/v1/inboxes/${id}/tags`));
    expect(tries.length).toBeLessThanOrEqual(6);
    expect((await house.late()).map((late) => late.split(':')[0])).toEqual([`tags ${id}`]);
    expect(house.said(50)).toContainEqual(
      expect.objectContaining({ list: `tags/${id}`, cause: expect.stringContaining('refuses a statement') }),
    );
    expect(running.failure()).toBeNull();
    await running.stop();
  });
});
