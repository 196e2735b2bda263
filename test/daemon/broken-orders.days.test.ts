import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { iso } from '../../src/database/instants.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { daemonHouse, type TestHouse } from '../support/daemon.ts';
import { someOf } from '../support/histories.ts';
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
  return { others, refused, state: (await mirrorOn(house.database).orders.read(id))?.state };
}

describe('an order with a list that alone', () => {
  const FAILURES = [
    ['single pages are read', true, { status: 500 }],
    ['connections are reset', false, 'reset'],
    ['only whole lists are read', false, { status: 500 }],
  ] as const;

  test.each(someOf(FAILURES, 2))(
    'fails leaves the others their requests, and costs few, where %s',
    async (_, readPages, answer) => {
      const house = await daemonHouse({ ...SMALL, readPages });
      const { others, refused } = await hoursOf(house, /^\/v1\/inboxes\?/, answer, 6);
      expect(Math.min(...others.slice(1))).toBeGreaterThanOrEqual(24);
      expect(refused).toBeLessThanOrEqual(100);
      expect((await house.late()).map((line) => line.split(':')[0])).toEqual(['inboxes null']);
      house.sandbox.script(undefined);
      await house.clock.sleep(65 * MINUTE);
      expect(await house.late()).toEqual([]);
      const orders = await mirrorOn(house.database).orders.next();
      expect(orders, 'the order is done').toBeNull();
    },
  );

  const REFUSED = [
    ['a list of conversations', '/conversations?', {}, 15],
    ['inboxes', '/inboxes?', { 'retry-after': '3600' }, 0],
    ['inboxes', '/inboxes?', {}, 20],
  ] as const;

  test.each(someOf(REFUSED, 2))(
    'draws 429s ends and leaves the others their requests: %s %s %o',
    async (_, path, headers, least) => {
      const house = await daemonHouse(SMALL);
      const { id } = nthInbox(house.sandbox, 0);
      const refused =
        path === '/inboxes?' ? /^\/v1\/inboxes\?/ : new RegExp(`/inboxes/${id}/conversations\\?`);
      const { others, state } = await hoursOf(house, refused, { status: 429, headers }, 10);
      expect(state).toBe('failed');
      expect(Math.min(...others.slice(-4))).toBeGreaterThanOrEqual(least);
      expect(others.slice(-4).reduce((sum, hour) => sum + hour, 0)).toBeGreaterThanOrEqual(60);
    },
  );
});

/** Fills the ledger with the requests of the day before, so many an hour in its first half. */
async function spendDay({ database, clock, sandbox }: TestHouse, perHour: number): Promise<void> {
  const now = clock.now();
  const early = perHour * 12;
  const count = 5000 - sandbox.arrivals.length;
  const half = 12 * HOUR;
  for (let nth = 0; nth < count; nth += 1) {
    const at = nth < early ? (nth * half) / early : half + ((nth - early) * half) / (count - early);
    await database.execute(
      `INSERT INTO requests (sent_at, method, path, list, inbox_id, reason, status, duration_ms, items)
       VALUES ($1, 'GET', '/inboxes/20117/conversations', 'conversations', '20117', 'page', 200, 5, 100)`,
      iso(now - DAY + at),
    );
  }
}

test.each(someOf([230, 200], 1))(
  'an outage that begins when an order has spent the budget is known as one, and costs few requests (%i an hour)',
  async (perHour) => {
    const house = await daemonHouse({
      sandbox: { conversations: [500, 300, 100], perDay: 100_000 },
      limits: { pageSize: 100, perDay: 5000, reserved: 250 },
      pollMs: 10_000,
      readPages: true,
    });
    const { clock, sandbox } = house;
    const first = await house.start();
    await clock.sleep(10 * MINUTE);
    await first.stop();
    await spendDay(house, perHour);
    await house.start();
    await clock.sleep(MINUTE);
    await house.order({ kind: 'resync' });
    await clock.sleep(2 * MINUTE);
    sandbox.script(() => ({ status: 503 }));
    await clock.sleep(HOUR);
    expect((await house.status()).outage).not.toBeNull();
    const from = sandbox.arrivals.length;
    await clock.sleep(3 * HOUR);
    expect(sandbox.arrivals.length - from).toBeLessThan(30);
    sandbox.script(undefined);
    await clock.sleep(HOUR);
    expect((await house.status()).outage).toBeNull();
    expect(await house.late()).toEqual([]);
  },
);
