import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { openMirror } from '../../src/mirror/mirror.ts';
import { daemonHouse, type TestHouse } from '../support/daemon.ts';
import { nthInbox } from '../support/rows.ts';

const SMALL = { sandbox: { conversations: [125, 60, 20] }, limits: { pageSize: 20 }, pollMs: 60_000 };

type Answer = ReturnType<Parameters<TestHouse['sandbox']['script']>[0] & {}>;

/**
 * Runs a daemon for an hour, then answers the requests for a list so, and orders a sync of all lists.
 * @returns the other requests of each hour since then, and those for the list
 */
async function hoursOf(
  house: TestHouse,
  path: RegExp,
  answer: Answer,
  hours: number,
): Promise<{ others: number[]; refused: number; state: string | undefined }> {
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(HOUR);
  sandbox.script((request) => (path.test(request.path) ? answer : undefined));
  const id = await house.order();
  const begin = sandbox.arrivals.length;
  const others: number[] = [];
  for (let hour = 0; hour < hours; hour += 1) {
    const from = sandbox.arrivals.length;
    await clock.sleep(HOUR);
    others.push(sandbox.arrivals.slice(from).filter((arrival) => !path.test(arrival.path)).length);
  }
  const refused = sandbox.arrivals.slice(begin).filter((arrival) => path.test(arrival.path)).length;
  return { others, refused, state: (await openMirror(house.database).orders.read(id))?.state };
}

describe('an order with a list that alone', () => {
  test.each([
    ['single pages are read', true, { status: 500 } as const],
    ['only whole lists are read', false, { status: 500 } as const],
    ['connections are reset', false, 'reset' as const],
  ])('fails leaves the others their requests, and costs few, where %s', async (_, readPages, answer) => {
    const house = await daemonHouse({ ...SMALL, readPages });
    const { others, refused } = await hoursOf(house, /^\/v1\/inboxes\?/, answer, 6);
    expect(Math.min(...others.slice(1))).toBeGreaterThanOrEqual(24);
    expect(refused).toBeLessThanOrEqual(100);
    expect((await house.late()).map((line) => line.split(':')[0])).toEqual(['inboxes null']);
    house.sandbox.script(undefined);
    await house.clock.sleep(65 * MINUTE);
    expect(await house.late()).toEqual([]);
    const orders = await openMirror(house.database).orders.next();
    expect(orders, 'the order is done').toBeNull();
  });

  test.each([
    ['inboxes', '/inboxes?', {}, 20],
    ['a list of conversations', '/conversations?', {}, 15],
    ['inboxes', '/inboxes?', { 'retry-after': '3600' }, 0],
  ])('draws 429s ends and leaves the others their requests: %s %s %o', async (_, path, headers, least) => {
    const house = await daemonHouse(SMALL);
    const { id } = nthInbox(house.sandbox, 0);
    const refused = path === '/inboxes?' ? /^\/v1\/inboxes\?/ : new RegExp(`/inboxes/${id}/conversations\\?`);
    const { others, state } = await hoursOf(house, refused, { status: 429, headers }, 10);
    expect(state).toBe('failed');
    expect(Math.min(...others.slice(-4))).toBeGreaterThanOrEqual(least);
    expect(others.slice(-4).reduce((sum, hour) => sum + hour, 0)).toBeGreaterThanOrEqual(60);
  });
});
