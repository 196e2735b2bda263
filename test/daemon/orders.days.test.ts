import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { iso } from '../../src/database/instants.ts';
import { accessId } from '../../src/core/secrets.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import type { PassRecord } from '../../src/sync/record.ts';
import { daemonHouse, intoOutage, type TestHouse } from '../support/daemon.ts';
import { KEY } from '../support/mirror.ts';
import { passSpec } from '../support/pass-spec.ts';
import { askedSince, count, firstIds, nthInbox, removeConversations } from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

const POLL = 5000;

/** Two long lists, of 30 and 4 pages, and five short ones. */
const LONG = { sandbox: { conversations: [300, 40] }, limits: { pageSize: 10 }, pollMs: POLL };
const SHORT = { sandbox: { conversations: [25, 15] }, limits: { pageSize: 20 }, pollMs: 30_000 };

async function ended(house: TestHouse, id: number, most = HOUR) {
  for (const until = house.clock.now() + most; house.clock.now() < until;) {
    const order = await mirrorOn(house.database).orders.read(id);
    if (order?.finishedAt) return order;
    await house.clock.sleep(Math.max(POLL, most / 200));
  }
  throw new Error(
    `order ${id} has not ended: ${JSON.stringify(await mirrorOn(house.database).orders.read(id))}`,
  );
}

/** The paths that were requested more than once. */
function requestedTwice(paths: readonly string[]): string[] {
  return [...Map.groupBy(paths, (path) => path)]
    .filter(([, times]) => times.length > 1)
    .map(([path]) => path);
}

async function openSweeps({ database }: TestHouse): Promise<number> {
  return await count(database, `sweeps WHERE state IN ('running', 'paused')`);
}

describe('an order placed during a scheduled sweep', () => {
  test('restarts the sweep where it is a resync, reads each page once, and shows in status', async () => {
    const house = await daemonHouse(LONG);
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(25_000);
    expect(
      (await house.status()).lists.some(({ sweep }) => sweep?.reason === 'schedule' && sweep.pages > 5),
    ).toBe(true);
    const placedAt = clock.now();
    const id = await house.order({ kind: 'resync' });
    await clock.sleep(2 * POLL + 3000);
    const order = await mirrorOn(house.database).orders.read(id);
    expect(order!.startedAt!.getTime() - placedAt).toBeLessThanOrEqual(2 * POLL);
    const status = await house.status();
    expect(status.openPasses).toMatchObject([{ id, kind: 'resync', ordered: true }]);
    expect(status.lists.filter(({ sweep }) => sweep?.reason === 'resync').length).toBeGreaterThan(0);
    expect(await ended(house, id)).toMatchObject({ state: 'done', error: null });
    const since = sandbox.arrivals
      .filter(({ at }) => at > order!.startedAt!.getTime() - 500)
      .map(({ path }) => path);
    expect(requestedTwice(since)).toEqual([]);
    expect(since).toHaveLength(1 + 2 + 2 + 30 + 4);
    expect(await openSweeps(house)).toBe(0);
    const asked = sandbox.arrivals.length;
    await clock.sleep(10 * MINUTE);
    expect(sandbox.arrivals.length, 'the slot is served').toBe(asked);
    await expectEqualToService(house);
  });

  test('resumes the sweep at its next page where it is a sync', async () => {
    const house = await daemonHouse(LONG);
    const { clock, sandbox } = house;
    const { id: inbox } = nthInbox(sandbox, 0);
    await house.start();
    await clock.sleep(25_000);
    const before = (await house.status()).lists.find(
      ({ list, inboxId }) => list === 'conversations' && inboxId === inbox,
    );
    expect(before?.sweep?.pages).toBeGreaterThan(5);
    const id = await house.order();
    expect(await ended(house, id)).toMatchObject({ state: 'done' });
    await clock.sleep(10 * MINUTE);
    const paths = askedSince(sandbox, 0).filter((path) => path.startsWith(`/inboxes/${inbox}/conversations`));
    expect(requestedTwice(paths)).toEqual([]);
    expect(paths).toHaveLength(30);
    expect(await openSweeps(house)).toBe(0);
    await expectEqualToService(house);
  });

  test('goes ahead of scheduled sweeps of other lists, which continue beside it', async () => {
    const house = await daemonHouse(LONG);
    const { clock, sandbox, database } = house;
    await house.start();
    await clock.sleep(20_000);
    const id = await house.order({ lists: ['tags'] });
    const { startedAt, finishedAt } = await ended(house, id);
    expect(finishedAt!.getTime() - startedAt!.getTime()).toBeLessThanOrEqual(4000);
    const reasons = await database.query<{ reason: string }>(
      `SELECT reason FROM requests WHERE sent_at > $1 AND sent_at <= $2 ORDER BY id`,
      startedAt!.toISOString(),
      finishedAt!.toISOString(),
    );
    // One scheduled request may be first at the gate. Another may leave before the order's last answers.
    expect(reasons.filter(({ reason }) => reason === 'schedule').length).toBeLessThanOrEqual(2);
    await clock.sleep(2 * MINUTE);
    expect(requestedTwice(askedSince(sandbox, 0).filter((path) => path.includes('/conversations')))).toEqual(
      [],
    );
    expect(await openSweeps(house)).toBe(0);
  });
});

test('a list that waited for a place while an order read it is not read again', async () => {
  const house = await daemonHouse({ ...LONG, sandbox: { conversations: [...Array(7).fill(150), 20] } });
  const { clock, sandbox } = house;
  const { id: last } = nthInbox(sandbox, 7);
  await house.start();
  // Places become free soon after the order.
  await clock.sleep(70_000);
  const id = await house.order({ lists: ['conversations'], inboxId: last });
  expect(await ended(house, id)).toMatchObject({ state: 'done' });
  await clock.sleep(10 * MINUTE);
  const paths = askedSince(sandbox, 0).filter((path) => path.startsWith(`/inboxes/${last}/conversations`));
  expect(paths).toHaveLength(2);
  await expectEqualToService(house);
});

test('the daemon carries out two orders in turn, and an order that was placed twice only once', async () => {
  const house = await daemonHouse(SHORT);
  await house.start();
  await house.clock.sleep(5 * MINUTE);
  const from = house.sandbox.arrivals.length;
  const first = await house.order({ kind: 'resync' });
  const second = await house.order({ lists: ['users'] });
  expect(await house.order({ kind: 'resync' })).toBe(first);
  const [one, two] = [await ended(house, first), await ended(house, second)];
  expect(one.state).toBe('done');
  expect(two.state).toBe('done');
  expect(two.startedAt!.getTime()).toBeGreaterThanOrEqual(one.finishedAt!.getTime());
  expect(house.sandbox.arrivals.length - from).toBe(1 + 2 + 2 + 3 + 2);
});

test('an order that a person cancels ends after its current pages, and the next one begins', async () => {
  const house = await daemonHouse({ ...LONG, pollMs: 1000 });
  const { clock, sandbox } = house;
  const { orders } = mirrorOn(house.database);
  await house.start();
  await clock.sleep(5 * MINUTE);
  const from = sandbox.arrivals.length;
  const [first, waiting, last] = [
    await house.order({ kind: 'resync' }),
    await house.order({ lists: ['tags'] }),
    await house.order({ lists: ['users'] }),
  ];
  await clock.sleep(10_000);
  expect(await orders.cancel(waiting, clock.now())).toBe(true);
  expect(await orders.cancel(first, clock.now())).toBe(true);
  expect(await orders.cancel(first, clock.now()), 'it has ended').toBe(false);
  expect(await ended(house, last)).toMatchObject({ state: 'done' });
  expect(await orders.read(first)).toMatchObject({ state: 'abandoned', error: 'a person cancelled it' });
  expect(await orders.read(waiting)).toMatchObject({ state: 'abandoned', startedAt: null });
  expect(sandbox.arrivals.length - from, 'a whole resync sends 39 requests').toBeLessThan(30);
  await clock.sleep(HOUR);
  expect(await openSweeps(house), 'the schedule reads what the order left').toBe(0);
  await expectEqualToService(house);
});

test.each(['stopped', 'killed'] as const)(
  'the daemon resumes a half-done order at its next page after it was %s',
  async (how) => {
    const house = await daemonHouse(LONG);
    const { clock, sandbox } = house;
    const first = await house.start();
    await clock.sleep(2 * MINUTE);
    const from = sandbox.arrivals.length;
    const id = await house.order({ kind: 'resync' });
    await clock.sleep(20_000);
    const endedAt = clock.now();
    if (how === 'stopped') await first.stop();
    else first.killSwitch.throw();
    // At 08:15 a scheduled sweep reads the conversations a second time; the order must be over by then.
    expect(clock.now()).toBe(endedAt);
    expect((await mirrorOn(house.database).orders.read(id))?.state).toBe('running');
    expect((await house.status()).openPasses).toMatchObject([{ id, ordered: true }]);
    await clock.sleep(5 * MINUTE);
    await house.start();
    expect(await ended(house, id)).toMatchObject({ state: 'done', error: null });
    const pages = askedSince(sandbox, from);
    // Four requests can be in flight when the daemon is killed.
    expect(requestedTwice(pages).length).toBeLessThanOrEqual(how === 'stopped' ? 0 : 4);
    expect(await openSweeps(house)).toBe(0);
    await expectEqualToService(house);
  },
);

test('an order placed while no daemon runs waits for the next one', async () => {
  const house = await daemonHouse(SHORT);
  const id = await house.order();
  await house.clock.sleep(HOUR);
  await house.start();
  expect(await ended(house, id)).toMatchObject({ state: 'done' });
  expect(house.sandbox.arrivals, 'what it read need not be read for the schedule').toHaveLength(
    1 + 2 + 2 + 3,
  );
});

describe('the daemon resumes an order by itself', () => {
  test('when an outage ends', async () => {
    const house = await daemonHouse(SHORT);
    const { clock, sandbox } = house;
    await intoOutage(house, 30);
    const from = sandbox.arrivals.length;
    const id = await house.order({ kind: 'resync' });
    await clock.sleep(2 * MINUTE);
    expect(
      await mirrorOn(house.database).orders.read(id),
      'it is tried at once, as a person would',
    ).toMatchObject({
      state: 'running',
    });
    expect(sandbox.arrivals.length).toBeGreaterThan(from);
    await clock.sleep(30 * MINUTE);
    expect(sandbox.arrivals.length - from).toBeLessThanOrEqual(28);
    sandbox.script(undefined);
    expect(await ended(house, id, 20 * MINUTE)).toMatchObject({ state: 'done', error: null });
    expect((await house.status()).outage).toBeNull();
    await expectEqualToService(house);
  });

  test('with one list a retry during an outage, not with all at once', async () => {
    const house = await daemonHouse(SHORT);
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(5 * MINUTE);
    sandbox.script(() => 'reset');
    await house.order({ lists: ['users', 'tags', 'conversations'] });
    const from = sandbox.arrivals.length;
    await clock.sleep(60 * MINUTE);
    // A try is four requests. Four lists try first, side by side; about nine tries of one list follow.
    expect(sandbox.arrivals.length - from).toBeLessThanOrEqual(4 * 4 + 9 * 4 + 8);
  });

  test('after a long pause that the service asked for', async () => {
    const house = await daemonHouse(SHORT);
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(20 * MINUTE);
    let refused = 0;
    sandbox.script(() =>
      (refused += 1) > 1 ? undefined : { status: 429, headers: { 'retry-after': '1800' } },
    );
    const first = await house.order({ kind: 'resync' });
    await clock.sleep(2 * MINUTE);
    const from = sandbox.arrivals.length;
    const second = await house.order({ lists: ['tags'] });
    await clock.sleep(20 * MINUTE);
    expect(sandbox.arrivals.length).toBe(from);
    const [one, two] = [await ended(house, first), await ended(house, second)];
    expect([one.state, two.state]).toEqual(['done', 'done']);
    expect(sandbox.arrivals.filter(({ status }) => status === 429)).toHaveLength(1);
  });

  test('when the day budget has room again, and spends the reserve on it', async () => {
    const house = await daemonHouse({
      ...SHORT,
      limits: { pageSize: 20, perDay: 40, reserved: 8 },
      pollMs: 5 * MINUTE,
    });
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(MINUTE);
    for (let orders = 0; orders < 3; orders += 1) {
      await ended(house, await house.order({ kind: 'resync' }));
      await clock.sleep(HOUR);
    }
    expect(sandbox.arrivals.length).toBeGreaterThanOrEqual(32);
    const id = await house.order({ kind: 'resync' });
    const second = await house.order({ lists: ['users', 'tags'] });
    await clock.sleep(2 * HOUR);
    expect(sandbox.arrivals).toHaveLength(40);
    expect(await mirrorOn(house.database).orders.read(second)).toMatchObject({ finishedAt: null });
    expect(await ended(house, id, 30 * HOUR)).toMatchObject({ state: 'done' });
    expect(await ended(house, second, 30 * HOUR)).toMatchObject({ state: 'done' });
    expect(sandbox.arrivals.every(({ status }) => status === 200)).toBe(true);
    const warnings = house.said(40).filter(({ msg }) => msg.includes('scheduled lists wait for the order'));
    expect(new Set(warnings.map((line) => line['order'])).size, 'once for each order').toBe(warnings.length);
    expect(warnings.length).toBeGreaterThan(0);
  });
});

describe('an order that waits for the day budget', () => {
  const perDay = 20;

  /** A daemon that has used up its day by orders. The reserve leaves no request to schedules. */
  async function spentHouse() {
    const limits = { pageSize: 20, perDay, reserved: perDay };
    const house = await daemonHouse({ ...SHORT, limits, pollMs: 1000 });
    const running = await house.start();
    for (let orders = 0; orders < 3; orders += 1) {
      await house.clock.sleep(MINUTE);
      await house.order({ kind: 'resync' });
    }
    await house.clock.sleep(MINUTE);
    expect(house.sandbox.arrivals).toHaveLength(perDay);
    const [current] = (await house.status()).openPasses;
    if (current === undefined) throw new Error('no order waits');
    return { house, running, id: current.id };
  }

  test('rests a minute, not just until one request is free', async () => {
    const { house, running } = await spentHouse();
    const { clock, sandbox } = house;
    await running.stop();

    // The new daemon resumes the order 5 s before the oldest request leaves the window.
    const oldest = sandbox.arrivals[0]?.at ?? 0;
    clock.advance(oldest + 24 * HOUR + 25_000 - clock.now());
    const restart = clock.now();
    await house.start();
    await clock.sleep(10 * MINUTE);
    expect(sandbox.arrivals.length).toBeGreaterThan(perDay);
    expect((sandbox.arrivals[perDay]?.at ?? 0) - restart).toBeGreaterThanOrEqual(MINUTE);
  });

  test('resumes within minutes once the budget has room before its time', async () => {
    const { house, id } = await spentHouse();
    house.limits.perDay = 10 * perDay;
    expect(await ended(house, id, 12 * MINUTE)).toMatchObject({ state: 'done' });
  });

  test('ends at once when a person cancels it', async () => {
    const { house, id } = await spentHouse();
    const next = await house.order({ lists: ['tags'] });
    const { orders } = mirrorOn(house.database);
    expect(await orders.cancel(id, house.clock.now())).toBe(true);
    await house.clock.sleep(5000);
    expect(house.said().filter(({ msg }) => msg === 'order cancelled')).toHaveLength(1);
    expect(await orders.read(next), 'the next order begins to wait').toMatchObject({ state: 'running' });
    expect(house.sandbox.arrivals).toHaveLength(perDay);
  });

  test('does not keep the daemon from stopping, and is resumed by the next one', async () => {
    const { house, running, id } = await spentHouse();
    const from = house.clock.now();
    await running.stop();
    expect(house.clock.now()).toBe(from);
    expect(await mirrorOn(house.database).orders.read(id)).toMatchObject({ state: 'running' });
    house.limits.perDay = 10 * perDay;
    await house.start();
    expect(await ended(house, id, 5 * MINUTE)).toMatchObject({ state: 'done' });
  });

  test('fails when the service refuses the key in the meantime', async () => {
    const { house, id } = await spentHouse();
    house.limits.perDay = perDay + 1;
    house.key = 'a wrong key';
    expect(await ended(house, id, 12 * MINUTE)).toMatchObject({ state: 'failed' });
  });
});

test('an order ends where requests become free singly, and asks about no row again and again', async () => {
  const perDay = 240;
  const limits = { pageSize: 10, perDay, reserved: 24 };
  const house = await daemonHouse({ sandbox: { conversations: [60, 20] }, limits, pollMs: POLL });
  const { clock, database, sandbox } = house;
  const first = await house.start();
  await clock.sleep(HOUR);
  await first.stop();
  const earlier = perDay - 2 - (await count(database, 'requests'));
  for (let request = 0; request < earlier; request += 1)
    await database.execute(
      `INSERT INTO requests (sent_at, method, path, list, reason, status)
       VALUES ($1, 'GET', '/inboxes', 'inboxes', 'schedule', 200)`,
      iso(clock.now() - DAY + (request * DAY) / earlier),
    );
  const inbox = nthInbox(sandbox, 0);
  removeConversations(house, inbox.id, firstIds(inbox.conversations, 3, 30));
  const from = sandbox.arrivals.length;

  const id = await house.order({ kind: 'resync' });
  await house.start();
  expect(await ended(house, id, 4 * HOUR)).toMatchObject({ state: 'done' });
  const questions = askedSince(sandbox, from).filter((path) => /conversations\/\d+$/.test(path));
  expect(new Set(questions).size).toBeGreaterThanOrEqual(3);
  expect(questions.length).toBeLessThanOrEqual(8);
});

test('an order with a refused key fails with KEY_REFUSED; a new key lets the daemon work on', async () => {
  const house = await daemonHouse(SHORT);
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(20 * MINUTE);
  house.key = 'a wrong key';
  const id = await house.order({ kind: 'resync' });
  const order = await ended(house, id);
  expect(order).toMatchObject({ state: 'failed' });
  expect((order.report as PassRecord).stopped).toMatchObject({ code: 'KEY_REFUSED' });
  await clock.sleep(HOUR);
  expect(sandbox.arrivals.filter(({ status }) => status === 401)).toHaveLength(1);
  house.key = KEY;
  expect(await ended(house, await house.order())).toMatchObject({ state: 'done' });
  expect(await house.late()).toEqual([]);
});

test('a consent of a command with another access fails, unless its account has been accepted already', async () => {
  const house = await daemonHouse(SHORT);
  const { clock, sandbox, database } = house;
  const first = await house.start();
  await clock.sleep(10 * MINUTE);
  const mirror = mirrorOn(database);
  const place = async (access: string): Promise<number> =>
    (await mirror.orders.place(passSpec({ acceptAccount: true }), clock.now(), access)).id;
  const before = sandbox.arrivals.length;
  const refused = await ended(house, await place('another access'));
  expect(refused).toMatchObject({ state: 'failed', error: expect.stringContaining('another key') as string });
  expect(askedSince(sandbox, before).filter((path) => path.startsWith('/inboxes?'))).toEqual([]);

  const { address, fingerprint } = await mirror.account();
  const id = await place(accessId({ address: address!, fingerprint: fingerprint! }));
  while ((await first.writer.passes.lastConsent()) !== id) await clock.sleep(100);
  await first.stop();
  expect(await mirror.orders.read(id)).toMatchObject({ state: 'running' });
  // As if the key of the same account had been renewed meanwhile.
  await database.execute(`UPDATE sync_requests SET accept_access = 'another access' WHERE id = $1`, id);
  await house.start();
  expect(await ended(house, id)).toMatchObject({ state: 'done', error: null });
});

test('a consent that a daemon had begun fails after a later one to another account', async () => {
  const house = await daemonHouse(SHORT);
  const { clock, sandbox, database } = house;
  const first = await house.start();
  await clock.sleep(10 * MINUTE);
  const id = await house.order({ acceptAccount: true });
  while ((await first.writer.passes.lastConsent()) !== id) await clock.sleep(100);
  await first.writer.passes.useConsent(id + 1);
  await first.writer.proveAccount({ address: 'https://other.example/v1', fingerprint: 'another key' });
  await first.stop();
  expect(await mirrorOn(database).orders.read(id)).toMatchObject({ state: 'running' });
  const from = sandbox.arrivals.length;
  // The daemon meets the other account, whose inboxes it does not have.
  sandbox.script(() => 'reset');
  await house.start();
  const order = await ended(house, id);
  expect(order).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('After this consent') as string,
  });
  expect(askedSince(sandbox, from)).toEqual([]);
});

test('a consent joins the same one of a command with the same access only', async () => {
  const { database, clock } = await daemonHouse(SHORT);
  const { orders } = mirrorOn(database);
  const consent = passSpec({ acceptAccount: true });
  const { id } = await orders.place(consent, clock.now(), 'one access');
  expect(await orders.place(consent, clock.now(), 'another access')).toEqual({ id: id + 1, joined: false });
  expect(await orders.place(consent, clock.now(), 'one access')).toEqual({ id, joined: true });
});

test('a consent that an earlier version placed, without an access, fails and accepts no account', async () => {
  const house = await daemonHouse(SHORT);
  const { clock, sandbox, database } = house;
  await house.start();
  await clock.sleep(10 * MINUTE);
  const before = sandbox.arrivals.length;
  const spec = passSpec({ acceptAccount: true });
  const { id } = await mirrorOn(database).orders.place(spec, clock.now(), null);
  const again = 'Nothing was read; run the command again.';
  expect(await ended(house, id)).toMatchObject({
    state: 'failed',
    error: expect.stringContaining(again) as string,
  });
  expect(askedSince(sandbox, before).filter((path) => path.startsWith('/inboxes?'))).toEqual([]);
  expect(await ended(house, await house.order({ acceptAccount: true }))).toMatchObject({ state: 'done' });
});

test('a consent that no daemon could use fails if the next one has another access', async () => {
  const house = await daemonHouse(SHORT);
  const { clock, sandbox, database } = house;
  const first = await house.start();
  await clock.sleep(10 * MINUTE);
  sandbox.script(() => 'reset');
  const id = await house.order({ acceptAccount: true });
  await clock.sleep(2 * MINUTE);
  await first.stop();
  const { state, startedAt } = (await mirrorOn(database).orders.read(id))!;
  expect([state, startedAt]).toEqual(['running', expect.any(Date)]);
  sandbox.script(undefined);
  await database.execute(`UPDATE sync_requests SET accept_access = 'another access' WHERE id = $1`, id);
  const from = sandbox.arrivals.length;
  await house.start();
  const order = await ended(house, id);
  // A scheduled reading of the inboxes came first.
  expect(askedSince(sandbox, from).some((path) => path.startsWith('/inboxes?'))).toBe(true);
  expect(order).toMatchObject({ state: 'failed', error: expect.stringContaining('another key') as string });
});

test('an order for an unknown inbox fails, and the daemon carries out the next one', async () => {
  const house = await daemonHouse(SHORT);
  await house.start();
  await house.clock.sleep(MINUTE);
  const wrong = await ended(house, await house.order({ lists: ['tags'], inboxId: '4711' }));
  expect(wrong).toMatchObject({ state: 'failed', error: expect.stringContaining('no inbox 4711') as string });
  expect((wrong.report as PassRecord).stopped).toMatchObject({ code: 'USAGE' });
  expect(await ended(house, await house.order({ lists: ['tags'] }))).toMatchObject({ state: 'done' });
});

test('an order with a failing list names it in its report and completes the others', async () => {
  const house = await daemonHouse(SHORT);
  const { clock, sandbox } = house;
  const { id: inbox } = nthInbox(sandbox, 1);
  await house.start();
  await clock.sleep(MINUTE);
  sandbox.script(({ path }) =>
    path.startsWith(`/v1/inboxes/${inbox}/conversations`) ? { status: 500 } : undefined,
  );
  const order = await ended(house, await house.order({ kind: 'resync' }));
  expect(order).toMatchObject({ state: 'failed', error: `not complete: conversations/${inbox}` });
  expect((order.report as PassRecord).lists.filter(({ outcome }) => outcome === 'complete')).toHaveLength(6);
});

test('an order is read without the typed client, which would cost the daemon its memory', async () => {
  const house = await daemonHouse(SHORT);
  const id = await house.order({ kind: 'sync' });
  const typed = (): Promise<never> => Promise.reject(new Error('the typed client was loaded'));
  const { orders } = mirrorOn({ ...house.database, typed });
  expect(await orders.read(id)).toMatchObject({ id, kind: 'sync', state: 'open', acceptDeletes: false });
  expect(await orders.read(id + 1)).toBeNull();
});
