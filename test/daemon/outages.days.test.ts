import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { mirrorOn } from '../../src/mirror/mirror.ts';
import { daemonHouse, intoOutage, type TestHouse } from '../support/daemon.ts';
import { sized, someOf } from '../support/histories.ts';
import { KEY } from '../support/mirror.ts';
import { firstIds, nthInbox, removeConversations } from '../support/rows.ts';
import { expectEqualToService } from '../support/truth.ts';

const SMALL = { sandbox: { conversations: [25, 15] }, limits: { pageSize: 20 } };

/** Minutes until `done` holds, at most `most`: a test then fails with a figure, not with a time-out. */
async function minutesUntil(
  house: TestHouse,
  done: () => Promise<boolean> | boolean,
  most = 240,
): Promise<number> {
  for (let minutes = 0; minutes < most; minutes += 1) {
    if (await done()) return minutes;
    await house.clock.sleep(MINUTE);
  }
  return most;
}

const isFresh = async (house: TestHouse): Promise<boolean> => (await house.late()).length === 0;

const ADVICE = /run the command again|--reset-gate/i;

test('an hour of outage costs few requests and log lines, shows in status and ends by itself', async () => {
  const house = await daemonHouse({ ...SMALL, socket: true });
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(20 * MINUTE);
  const [from, lines] = [sandbox.arrivals.length, house.said().length];
  sandbox.script(() => 'reset');
  await clock.sleep(HOUR);
  expect((await house.status()).outage).toMatchObject({
    cause: expect.stringContaining('ECONNRESET') as string,
  });
  expect(sandbox.arrivals.length - from).toBeLessThanOrEqual(20);
  expect(house.said().length - lines).toBeLessThanOrEqual(5);
  const asked = sandbox.arrivals.length;
  sandbox.script(undefined);
  expect(await minutesUntil(house, () => sandbox.arrivals.length > asked)).toBeLessThanOrEqual(15);
  expect(await minutesUntil(house, () => isFresh(house))).toBeLessThanOrEqual(2);
  expect((await house.status()).outage).toBeNull();
  expect(house.said().at(-1)?.msg ?? '').not.toBe('');
  expect(house.said().some(({ msg }) => /answers again, after 1 h/.test(msg))).toBe(true);
  expect(JSON.stringify(house.said()), 'no advice for a person at a command').not.toMatch(ADVICE);
  await expectEqualToService(house);
});

test('a restarted daemon remembers an outage and does not retry at once', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  const first = await intoOutage(house, 40);
  const { outage } = await house.status();
  await first.stop();
  const asked = sandbox.arrivals.length;
  await house.start();
  await clock.sleep(outage!.until.getTime() - clock.now() - MINUTE);
  expect(sandbox.arrivals.length).toBe(asked);
  sandbox.script(undefined);
  expect(await minutesUntil(house, () => isFresh(house))).toBeLessThanOrEqual(3);
  expect((await house.status()).outage).toBeNull();
});

test('an hour of 429s costs at most 8 requests, restarts included', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  const first = await house.start();
  await clock.sleep(20 * MINUTE);
  const [from, lines] = [sandbox.arrivals.length, house.said().length];
  sandbox.script(() => ({ status: 429 }));
  await clock.sleep(25 * MINUTE);
  await first.stop();
  await house.start();
  await clock.sleep(35 * MINUTE);
  expect(sandbox.arrivals.length - from).toBeLessThanOrEqual(8);
  expect(house.said().length - lines).toBeLessThanOrEqual(10);
  expect((await house.status()).gate.strikes).toBeGreaterThanOrEqual(3);
  expect(JSON.stringify(house.said()), 'no advice for a person at a command').not.toMatch(ADVICE);
  sandbox.script(undefined);
  // The daemon waits out the breaker's pause of at most 72 minutes.
  expect(await minutesUntil(house, () => isFresh(house))).toBeLessThanOrEqual(75);
  expect(sandbox.arrivals.slice(from).filter(({ status }) => status === 429).length).toBeLessThanOrEqual(8);
});

test.each(someOf(['3600', '900'], 1))(
  'an inbox whose lists all answer 503 and ask to wait %s s does not silence the others',
  async (wait) => {
    const house = await daemonHouse(SMALL);
    const { clock, sandbox } = house;
    const { id } = nthInbox(sandbox, 0);
    await house.start();
    await clock.sleep(20 * MINUTE);
    const isBroken = (path: string): boolean => path.startsWith(`/v1/inboxes/${id}/`);
    sandbox.script(({ path }) =>
      isBroken(path) ? { status: 503, headers: { 'retry-after': wait } } : undefined,
    );
    await clock.sleep(10 * HOUR);
    const served = [];
    for (let hours = 0; hours < 14; hours += 1) {
      const from = sandbox.arrivals.length;
      await clock.sleep(HOUR);
      served.push(sandbox.arrivals.slice(from).filter(({ status }) => status === 200).length);
    }
    expect(Math.min(...served)).toBeGreaterThanOrEqual(5);
    expect((await house.late()).map((line) => line.slice(0, line.indexOf(':')))).toEqual(
      ['users', 'tags', 'conversations'].map((list) => `${list} ${id}`),
    );
  },
);

test.each(someOf(['3600', '900', '7200'], 1))(
  'all users and tags of six inboxes that answer 503 and ask to wait %s s leave the other lists their requests',
  async (wait) => {
    const house = await daemonHouse({ ...SMALL, sandbox: { conversations: [60, 60, 60, 60, 60, 60] } });
    const { clock, sandbox } = house;
    await house.start();
    await clock.sleep(HOUR);
    sandbox.script(({ path }) =>
      /\/(users|tags)\?/.test(path) ? { status: 503, headers: { 'retry-after': wait } } : undefined,
    );
    const served = [];
    for (let hours = 0; hours < 9; hours += 1) {
      const from = sandbox.arrivals.length;
      await clock.sleep(HOUR);
      served.push(sandbox.arrivals.slice(from).filter(({ status }) => status === 200).length);
    }
    expect(Math.min(...served)).toBeGreaterThanOrEqual(60);
  },
);

test('a list that asks to wait for an hour is asked for once an hour by a daemon that restarts each minute', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  const { id } = nthInbox(sandbox, 0);
  const isBroken = (path: string): boolean => path.startsWith(`/v1/inboxes/${id}/users?`);
  sandbox.script(({ path }) =>
    isBroken(path) ? { status: 503, headers: { 'retry-after': '3600' } } : undefined,
  );
  for (let minutes = 0; minutes < 3 * 60; minutes += 1) {
    const daemon = await house.start();
    await clock.sleep(MINUTE);
    await daemon.stop();
  }
  expect(sandbox.arrivals.filter(({ path }) => isBroken(path)).length).toBeLessThanOrEqual(3);
});

describe('a list that asks to wait', () => {
  const DAILY = { inboxes: '0 3 * * *', users: '0 3 * * *', tags: '0 3 * * *', conversations: '0 3 * * *' };

  test.each([10, 600, 3600])(
    '%i s is read after that, although no slot comes before tomorrow',
    async (wait) => {
      const house = await daemonHouse({ ...SMALL, schedules: DAILY });
      const { clock, sandbox } = house;
      const { id } = nthInbox(sandbox, 0);
      await house.start();
      // To the second slot.
      await clock.sleep(2 * DAY + 3 * HOUR - (clock.now() % DAY));
      const from = sandbox.arrivals.length;
      sandbox.script(({ path }) =>
        path.includes(`/${id}/users?`)
          ? { status: 503, headers: { 'retry-after': String(wait) } }
          : undefined,
      );
      await clock.sleep(90 * MINUTE);
      sandbox.script(undefined);
      await clock.sleep(90 * MINUTE);
      const answers = sandbox.arrivals.slice(from).filter(({ path }) => path.includes(`/${id}/users?`));
      expect(answers.map(({ status }) => status).slice(-2)).toEqual([503, 200]);
    },
  );

  test('a day is read within minutes if a person ends the wait, although a daemon runs', async () => {
    const house = await daemonHouse(SMALL);
    const { clock, sandbox, database } = house;
    const { id } = nthInbox(sandbox, 0);
    await house.start();
    await clock.sleep(HOUR);
    const isBroken = (path: string): boolean => path.includes(`/${id}/conversations?`);
    sandbox.script(({ path }) =>
      isBroken(path) ? { status: 503, headers: { 'retry-after': '86400' } } : undefined,
    );
    await clock.sleep(HOUR);
    sandbox.script(undefined);
    const from = sandbox.arrivals.length;
    expect(await mirrorOn(database).ledger.openGate(clock.now())).toBe(1);
    await clock.sleep(5 * MINUTE);
    expect(sandbox.arrivals.slice(from).filter(({ path }) => isBroken(path))).not.toEqual([]);
  });
});

test.each(someOf(['86400', '3600'], 1))(
  'single conversations that all answer 503 and ask to wait %s s do not silence the lists',
  async (wait) => {
    const house = await daemonHouse({ ...SMALL, sandbox: { conversations: [125, 115] } });
    const { clock, sandbox } = house;
    const inboxes = [nthInbox(sandbox, 0), nthInbox(sandbox, 1)];
    await house.start();
    await clock.sleep(20 * MINUTE);
    sandbox.script(({ path }) =>
      /conversations\/\d+$/.test(path) ? { status: 503, headers: { 'retry-after': wait } } : undefined,
    );
    const served = [];
    for (let hours = 0; hours < 5; hours += 1) {
      for (const inbox of inboxes) removeConversations(house, inbox.id, firstIds(inbox.conversations, 1, 50));
      const from = sandbox.arrivals.length;
      await clock.sleep(HOUR);
      served.push(sandbox.arrivals.slice(from).filter(({ status }) => status === 200).length);
    }
    expect(Math.min(...served)).toBeGreaterThanOrEqual(40);
    expect(await house.late()).toEqual([]);
  },
);

test.each(['conversations', 'inboxes'] as const)(
  'when only a page of %s fails, other lists stay fresh and that one is retried less and less often',
  async (list) => {
    const house = await daemonHouse(SMALL);
    const { clock, sandbox } = house;
    const { id } = nthInbox(sandbox, 0);
    const isBroken = (path: string): boolean =>
      list === 'inboxes'
        ? path.startsWith('/v1/inboxes?')
        : path.startsWith(`/v1/inboxes/${id}/conversations?`) && /next_page/.test(path);
    await house.start();
    await clock.sleep(20 * MINUTE);
    const lines = house.said().length;
    sandbox.script(({ path }) => (isBroken(path) ? { status: 500 } : undefined));
    const from = sandbox.arrivals.length;
    const late = new Set<string>();
    for (let minutes = 0; minutes < 200; minutes += 5) {
      await clock.sleep(5 * MINUTE);
      for (const line of await house.late()) late.add(line.slice(0, line.indexOf(':')));
    }
    expect([...late]).toEqual([list === 'inboxes' ? 'inboxes null' : `conversations ${id}`]);
    const tried = sandbox.arrivals
      .slice(from)
      .filter(({ path }) => isBroken(path))
      .map(({ at }) => at / MINUTE)
      .filter((at, index, all) => at - (all[index - 1] ?? 0) > 1);
    const waits = tried.slice(1).map((at, index) => at - tried[index]!);
    expect(waits.slice(0, 4).every((wait, index) => wait >= 5 * 2 ** index)).toBe(true);
    expect(Math.max(...waits)).toBeLessThanOrEqual(62);
    const warnings = house
      .said()
      .slice(lines)
      .filter(({ level }) => level >= 40);
    expect(warnings.filter(({ msg }) => msg.includes('out of reach')).length).toBeLessThanOrEqual(1);
    expect(
      warnings.some(
        (line) => line.msg.includes('a list cannot be read') && String(line['list']).startsWith(list),
      ),
    ).toBe(true);
    expect((await house.status()).outage).toBeNull();
    sandbox.script(undefined);
    expect(await minutesUntil(house, () => isFresh(house))).toBeLessThanOrEqual(61);
  },
);

test('when all lists of conversations fail, each one is retried less and less often', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  await house.start();
  await clock.sleep(20 * MINUTE);
  sandbox.script(({ path }) => (path.includes('/conversations?') ? { status: 503 } : undefined));
  await clock.sleep(6 * HOUR);
  const failed = sandbox.arrivals.filter(({ status }) => status === 503).length;
  expect(failed).toBeGreaterThan(0);
  expect(failed).toBeLessThan(100);
  sandbox.script(undefined);
  expect(await minutesUntil(house, () => isFresh(house))).toBeLessThanOrEqual(61);
});

test('the daemon tries a list that the service refuses once a slot and keeps the others fresh', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  const { id } = nthInbox(sandbox, 1);
  await house.start();
  await clock.sleep(5 * MINUTE);
  sandbox.script(({ path }) =>
    path.startsWith(`/v1/inboxes/${id}/conversations`) ? { status: 404, body: '{}' } : undefined,
  );
  const from = sandbox.arrivals.length;
  await clock.sleep(2 * HOUR);
  expect(sandbox.arrivals.slice(from).filter(({ status }) => status === 404)).toHaveLength(8);
  expect((await house.late()).map((line) => line.split(':')[0])).toEqual([`conversations ${id}`]);
});

test('a refused key closes the gate after one request; a new key opens it without a restart', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  house.key = 'a wrong key';
  await house.start();
  await clock.sleep(3 * HOUR);
  expect(sandbox.arrivals.map(({ status }) => status)).toEqual([401]);
  expect(house.said(50).map(({ msg }) => msg)).toEqual([expect.stringContaining('the API key is refused')]);
  house.key = KEY;
  expect(await minutesUntil(house, () => isFresh(house))).toBeLessThanOrEqual(3);
  expect((await house.status()).gate, 'the old key is forgotten').toMatchObject({
    refusedKey: null,
    cause: null,
  });
  await expectEqualToService(house);
});

test('beside cron with another key, a daemon sends a refused key once an hour at most', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  house.key = 'a wrong key';
  await house.start();
  const { ledger } = mirrorOn(house.database);
  for (let run = 0; run < 36; run += 1) {
    await clock.sleep(5 * MINUTE);
    await ledger.retryKey('the access of another host', clock.now());
  }
  expect(sandbox.arrivals.every(({ status }) => status === 401)).toBe(true);
  expect(sandbox.arrivals.length).toBeLessThanOrEqual(3);
  expect(house.said(50).length, 'one error for each time that the gate was opened').toBeLessThanOrEqual(37);
});

test('the daemon sends nothing before the end of a Retry-After of two hours on a 503', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  const running = await house.start();
  await clock.sleep(20 * MINUTE);
  sandbox.script(() => ({ status: 503, headers: { 'retry-after': '7200' } }));
  await minutesUntil(house, async () => (await house.status()).outage !== null);
  await clock.sleep(5 * MINUTE);
  const asked = sandbox.arrivals.length;

  await clock.sleep(50 * MINUTE);
  await running.stop();
  await house.start();
  await clock.sleep(50 * MINUTE);
  expect(sandbox.arrivals.length).toBe(asked);

  sandbox.script(undefined);
  await minutesUntil(house, () => isFresh(house), 60);
  expect(await isFresh(house)).toBe(true);
});

test('a person who opens the gate also ends the wait of an outage for which the service has asked', async () => {
  const house = await daemonHouse(SMALL);
  const { clock, sandbox } = house;
  const { writer } = await house.start();
  await clock.sleep(20 * MINUTE);
  sandbox.script(() => ({ status: 503, headers: { 'retry-after': '86400' } }));
  await minutesUntil(house, async () => (await house.status()).outage !== null);
  await clock.sleep(5 * MINUTE);
  sandbox.script(undefined);
  const asked = sandbox.arrivals.length;
  await clock.sleep(HOUR);
  expect(sandbox.arrivals.length).toBe(asked);
  await writer.ledger.openGate(clock.now());
  expect(await minutesUntil(house, async () => (await house.status()).outage === null)).toBeLessThanOrEqual(
    1,
  );
  await clock.sleep(10 * MINUTE);
  expect((await house.late()).length, 'the first list that failed rests alone').toBeLessThanOrEqual(1);
});

test('a list that fails does not keep a daemon that restarts every ten minutes from reading the others', async () => {
  const house = await daemonHouse({
    sandbox: { conversations: [120, 60], perDay: 480 },
    limits: { pageSize: 20, perDay: 480, reserved: 24 },
    pollMs: 60_000,
    readPages: true,
  });
  const { clock, sandbox } = house;
  let daemon = await house.start();
  await clock.sleep(HOUR);
  const { id } = nthInbox(sandbox, 0);
  sandbox.script(({ path }) => (path.includes(`${id}/tags`) ? { status: 500 } : undefined));
  const answered: number[] = [];
  for (let lives = 0; lives < sized(108, 144); lives += 1) {
    const from = sandbox.arrivals.length;
    await clock.sleep(10 * MINUTE - 20_000);
    await daemon.stop();
    await clock.sleep(10_000);
    daemon = await house.start();
    await clock.sleep(10_000);
    answered.push(sandbox.arrivals.slice(from).filter(({ status }) => status === 200).length);
  }
  expect(answered.slice(72).reduce((sum, count) => sum + count)).toBeGreaterThan(sized(50, 100));
});
