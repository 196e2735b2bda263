import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { readConfig } from '../../src/session/config/config.ts';
import { judge } from '../../src/status/judge.ts';
import { daemonHouse, type TestHouse } from '../support/daemon.ts';
import { firstInbox } from '../support/rows.ts';

/** Scheduled work may send 240 requests a day: ten an hour. */
const LIMITS = { pageSize: 10, perDay: 260, reserved: 20 };
const A_DAY = LIMITS.perDay - LIMITS.reserved;

/** The first inbox's conversations never come whole; the second one has 8 pages. */
async function house(
  conversations: number,
  sandbox: Partial<SandboxOptions> = {},
): Promise<TestHouse & { readonly broken: string }> {
  const made = await daemonHouse({
    readPages: true,
    limits: LIMITS,
    pollMs: 15 * MINUTE,
    schedules: { conversations: '0 3 * * *', inboxes: '0 */3 * * *' },
    sandbox: {
      conversations: [conversations, 80],
      perDay: 0,
      activityPerHour: 2,
      idType: 'string',
      ...sandbox,
    },
  });
  return Object.assign(made, { broken: firstInbox(made.sandbox).id });
}

/** Each page of these lists has fresh rows and a fresh token. */
function giveNoEnd(sandbox: Sandbox, inboxes: readonly string[]): void {
  let id = 1_000_000;
  sandbox.script(({ path }) => {
    if (!inboxes.some((inbox) => path.includes(`/inboxes/${inbox}/conversations?`))) return undefined;
    const results = Array.from({ length: 10 }, () => ({
      id: String((id += 1)),
      status: 'open',
      tag_ids: [],
    }));
    return { status: 200, body: JSON.stringify({ results, pagination: { next_page: `t${id}` } }) };
  });
}

type Spent = { readonly broken: number; readonly others: number };

/** The requests for the broken list and for all others, day by day. */
async function spendDays({ clock, sandbox, broken }: TestHouse & { broken: string }, days: number) {
  const spent: Spent[] = [];
  for (let day = 0; day < days; day += 1) {
    const from = sandbox.arrivals.length;
    await clock.sleep(DAY);
    const paths = sandbox.arrivals.slice(from).map(({ path }) => path);
    const own = paths.filter((path) => path.includes(`/inboxes/${broken}/conversations`)).length;
    spent.push({ broken: own, others: paths.length - own });
  }
  return spent;
}

async function judgedList(of: TestHouse & { broken: string }) {
  const config = readConfig({ REQUESTS_PER_DAY: '260', REQUESTS_RESERVED: '20' }, '/', { service: false });
  const self = { host: 'test-host', pid: 1, isAlive: () => true, isWriter: false };
  const { judged } = judge(await of.status(), { now: of.clock.now(), config, databaseName: '', self });
  return judged.find(({ list, inboxId }) => list === 'conversations' && inboxId === of.broken)!;
}

describe('a list whose first filling never completes', () => {
  test.each([
    [
      'that has no readable row',
      { status: 200, body: '{"results":[{},{}],"pagination":{"next_page":null}}' },
    ],
    ['whose token is refused', { status: 404 }],
  ])(
    'for a page %s, costs a quarter of the days, also over restarts, and is reported',
    async (_, answer) => {
      const all = await house(400);
      const { sandbox, broken, clock } = all;
      let page = 0;
      sandbox.script(({ path }) => {
        if (!path.includes(`/inboxes/${broken}/conversations?`)) return undefined;
        page = path.includes('next_page') ? page + 1 : 1;
        return page === 30 ? answer : undefined;
      });
      const first = await all.start();
      await clock.sleep(2 * HOUR);
      await first.stop();
      await all.start();
      const spent = await spendDays(all, 2);
      const cost = spent.reduce((sum, day) => sum + day.broken, 0);
      expect(cost, JSON.stringify(spent)).toBeLessThanOrEqual(0.25 * 2 * A_DAY + 30);
      expect(Math.min(...spent.map(({ others }) => others))).toBeGreaterThan(100);
      const list = await judgedList(all);
      expect(list).toMatchObject({ freshness: 'never', failures: { sweeps: expect.any(Number) as number } });
      expect(list.failures!.sweeps).toBeGreaterThan(1);
      expect(list.failures!.requests).toBeGreaterThan(60);
      sandbox.script(undefined);
      await clock.sleep(list.restsUntil!.getTime() - clock.now() + DAY);
      expect(await judgedList(all)).toMatchObject({ freshness: 'fresh', failures: null, restsUntil: null });
    },
    180_000,
  );

  test('for fresh tokens and rows without an end, takes its turn after a day, and the log reports it', async () => {
    const all = await house(20);
    const { sandbox, broken } = all;
    giveNoEnd(sandbox, [broken]);
    await all.start();
    const spent = await spendDays(all, 2);
    for (const { broken: own, others } of spent.slice(1)) {
      expect(own, JSON.stringify(spent)).toBeLessThan(0.6 * A_DAY);
      expect(others).toBeGreaterThan(0.4 * A_DAY);
    }
    const errors = all.said(50).filter(({ msg }) => msg.includes('has not ended'));
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.length).toBeLessThanOrEqual(3);
    expect(errors[0]).toMatchObject({ list: `conversations/${broken}` });
  }, 180_000);

  test('and four of them leave the others, which are read whole, their share on the second day', async () => {
    const all = await house(80, { conversations: [80, 20, 20, 20, 20, 80], listOrder: 'mixed' });
    const { sandbox } = all;
    const ids = Array.from(sandbox.world.inboxes.values(), ({ id }) => id);
    giveNoEnd(sandbox, ids.slice(1, 5));
    await all.start();
    const spent: Record<string, number>[] = [];
    for (let day = 0; day < 2; day += 1) {
      const from = sandbox.arrivals.length;
      await all.clock.sleep(DAY);
      const lists = sandbox.arrivals
        .slice(from)
        .map(({ path }) => /(\d+)\/conversations/.exec(path)?.[1] ?? '');
      spent.push(Object.fromEntries(ids.map((id) => [id, lists.filter((list) => list === id).length])));
    }
    const [first = '', ...others] = ids;
    const last = others.at(-1) ?? '';
    const [, { [first]: before = 0, [last]: never = 0, ...endless } = {}] = spent;
    const shown = JSON.stringify(spent);
    expect(before + never, shown).toBeGreaterThan(0.25 * A_DAY);
    expect(Math.min(before, never), shown).toBeGreaterThan(24);
    expect(
      Object.values(endless).reduce((sum, requests) => sum + requests, 0),
      shown,
    ).toBeGreaterThan(10);
  }, 180_000);
});
