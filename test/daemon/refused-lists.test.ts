import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { daemonHouse, type TestHouse } from '../support/daemon.ts';
import { nthInbox } from '../support/rows.ts';

const SMALL = { sandbox: { conversations: [125, 115, 40] }, limits: { pageSize: 20 }, pollMs: 20_000 };

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

test.each([
  ['the conversations of an inbox', '/conversations', false, 30],
  ['the conversations of an inbox, read by pages,', '/conversations', true, 150],
  ['all lists of an inbox', '/', false, 25],
])('%s that alone draw 429s leave the other lists their requests', async (_, end, readPages, least) => {
  const house = await daemonHouse({ ...SMALL, readPages });
  const { id } = nthInbox(house.sandbox, 0);
  const answers = await lastHour(
    house,
    ({ path }) => (path.startsWith(`/v1/inboxes/${id}${end}`) ? { status: 429 } : undefined),
    10,
  );
  expect(counted(answers, 200)).toBeGreaterThanOrEqual(least);
  expect(counted(answers, 429)).toBeLessThanOrEqual(6);
});

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
