import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { daemonHouse, type TestHouse } from '../support/daemon.ts';
import { sized, someOf } from '../support/histories.ts';
import { nthInbox } from '../support/rows.ts';

const SMALL = { sandbox: { conversations: [125, 115, 40] }, limits: { pageSize: 20 }, pollMs: 120_000 };

type Script = Parameters<TestHouse['sandbox']['script']>[0];

/** Runs a daemon for two hours, then `script` for some hours. @returns the statuses of the last hour */
async function lastHour(house: TestHouse, script: Script, hours: number): Promise<number[]> {
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(2 * HOUR);
  sandbox.script(script);
  await clock.sleep((hours - 1) * HOUR);
  const from = sandbox.arrivals.length;
  await clock.sleep(HOUR);
  return sandbox.arrivals.slice(from).map(({ status }) => status ?? 0);
}

const counted = (answers: readonly number[], status: number): number =>
  answers.filter((answer) => answer === status).length;

const REFUSED = [
  ['the conversations of an inbox, read by pages,', '/conversations', true, 150],
  ['all lists of an inbox', '/', false, 25],
  ['the conversations of an inbox', '/conversations', false, 30],
] as const;

test.each(someOf(REFUSED, 2))(
  '%s that alone draw 429s leave the other lists their requests',
  async (_, end, readPages, least) => {
    const house = await daemonHouse({ ...SMALL, readPages });
    const { id } = nthInbox(house.sandbox, 0);
    const answers = await lastHour(
      house,
      ({ path }) => (path.startsWith(`/v1/inboxes/${id}${end}`) ? { status: 429 } : undefined),
      sized(4, 10),
    );
    expect(counted(answers, 200)).toBeGreaterThanOrEqual(least);
    expect(counted(answers, 429)).toBeLessThanOrEqual(6);
  },
);

test('a list that alone draws 429s and asks to wait an hour leaves the others half of the time', async () => {
  const house = await daemonHouse(SMALL);
  const { id } = nthInbox(house.sandbox, 0);
  const { sandbox } = house;
  const tooMany = { status: 429, headers: { 'retry-after': '3600' } };
  await lastHour(house, ({ path }) => (path.includes(`${id}/conversations`) ? tooMany : undefined), 4);
  const from = sandbox.arrivals.length;
  await house.clock.sleep(8 * HOUR);
  expect(
    counted(
      sandbox.arrivals.slice(from).map(({ status }) => status ?? 0),
      200,
    ),
  ).toBeGreaterThan(100);
});

test.each([
  ['404', { status: 404, body: '{}' }],
  ['200 and no list', { status: 200, body: '{}' }],
])('an outage that turns into answers of %s still costs few requests and log lines', async (_, answer) => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(2 * HOUR);
  sandbox.script(() => 'reset');
  await clock.sleep(30 * MINUTE);
  sandbox.script(() => answer);
  const [from, lines] = [sandbox.arrivals.length, house.said().length];
  await clock.sleep(4 * HOUR);
  expect(sandbox.arrivals.length - from).toBeLessThanOrEqual(20);
  expect(house.said().length - lines).toBeLessThanOrEqual(40);
  const { outage } = await house.status();
  expect(outage?.cause).toMatch(answer.status === 404 ? /404/ : /results/);
  expect(outage?.until.getTime(), 'status names the next attempt').toBeGreaterThan(clock.now());

  const asked = sandbox.arrivals.length;
  sandbox.script(undefined);
  await clock.sleep(outage!.until.getTime() - clock.now() - 10_000);
  expect(sandbox.arrivals.length).toBe(asked);
  await clock.sleep(10 * MINUTE);
  expect((await house.status()).outage).toBeNull();
  expect(await house.late()).toEqual([]);
});

const MANY = {
  sandbox: { conversations: Array<number>(12).fill(15), usersPerInbox: 5, tagsPerInbox: 5 },
  limits: { pageSize: 20 },
  pollMs: 120_000,
};

const FAILURES = [
  ['429s', { status: 429 }, 30],
  ['resets', 'reset', 200],
  ['500s', { status: 500 }, 200],
] as const;

test.each(someOf(FAILURES, 1))(
  'users and tags of twelve inboxes that draw %s cost few requests',
  async (_, failure, most) => {
    const house = await daemonHouse({ ...MANY, readPages: true });
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(2 * HOUR);
    sandbox.script(({ path }) => (/\/(users|tags)\?/.test(path) ? failure : undefined));
    const from = sandbox.arrivals.length;
    await clock.sleep(6 * HOUR);
    const failed = sandbox.arrivals.slice(from).filter(({ path }) => /\/(users|tags)\?/.test(path));
    expect(failed.length).toBeLessThan(most);
    expect(await house.late()).toEqual(
      expect.not.arrayContaining([expect.stringMatching(/^(inboxes|conv)/)]),
    );
    sandbox.script(undefined);
    await clock.sleep(HOUR);
    expect(await house.late()).toEqual([]);
  },
  180_000,
);

test('of twelve inboxes, those whose users are answered are read, although five others fail', async () => {
  const house = await daemonHouse(MANY);
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(2 * HOUR);
  const broken = [...sandbox.world.inboxes.keys()].slice(0, 5);
  sandbox.script(({ path }) =>
    broken.some((id) => path.startsWith(`/v1/inboxes/${id}/users?`)) ? { status: 500 } : undefined,
  );
  await clock.sleep(sized(7, 14) * HOUR);
  const late = (await house.late()).filter((list) => !broken.some((id) => list.includes(id)));
  expect(late).toEqual([]);
});

const UNREAD = [
  ['all users and tags', (path: string) => /\/(users|tags)\?/.test(path)],
  ['all lists of the first inbox', (path: string, first: string) => path.startsWith(`/v1/inboxes/${first}/`)],
] as const;

test.each(someOf(UNREAD, 1))('a new mirror is filled although %s draw 429s', async (_, isRefused) => {
  const house = await daemonHouse({ ...SMALL, readPages: true });
  const { clock, sandbox } = house;
  const { id } = nthInbox(sandbox, 0);
  sandbox.script(({ path }) => (isRefused(path, id) ? { status: 429 } : undefined));
  await house.start();
  await clock.sleep(sized(4, 8) * HOUR);
  const { lists } = await house.status();
  const unread = lists.filter(({ list, inboxId, completeAsOf }) => {
    const path = list === 'inboxes' ? '/v1/inboxes?' : `/v1/inboxes/${inboxId}/${list}?`;
    return completeAsOf === null && !isRefused(path, id);
  });
  expect(unread.map(({ list, inboxId }) => `${list} ${inboxId}`)).toEqual([]);
});

const PATIENT = [
  ['single conversations', (path: string) => /\/conversations\/\d/.test(path)],
  ['users of one inbox', (path: string, id: string) => path.startsWith(`/v1/inboxes/${id}/users?`)],
] as const;

test.each(someOf(PATIENT, 1))(
  '%s whose 429s ask to wait a day silence the others for one day only',
  async (_, isRefused) => {
    const house = await daemonHouse({
      ...SMALL,
      readPages: true,
      limits: { pageSize: 20, perDay: 500, reserved: 25 },
    });
    const { clock, sandbox } = house;
    const inbox = nthInbox(sandbox, 0);
    await house.start();
    await clock.sleep(14 * HOUR);
    sandbox.script(({ path }) =>
      isRefused(path, inbox.id) ? { status: 429, headers: { 'retry-after': '86400' } } : undefined,
    );
    for (const id of inbox.conversations.order.slice(20, 23)) sandbox.world.removeConversation(inbox.id, id);
    await clock.sleep(38 * HOUR);
    const from = sandbox.arrivals.length;
    await clock.sleep(20 * HOUR);
    const served = sandbox.arrivals.slice(from).filter(({ status }) => status === 200);
    expect(served.length).toBeGreaterThan(250);
  },
);
