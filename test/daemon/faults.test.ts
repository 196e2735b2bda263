import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { daemonHouse } from '../support/daemon.ts';
import { firstInbox } from '../support/rows.ts';

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
  expect(tries.length).toBeLessThanOrEqual(3);
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
