import { describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import { LIST_NAMES } from '../../src/core/lists.ts';
import type { ScriptedOutcome } from '../../src/sandbox/sandbox.ts';
import { Cron } from '../support/cron.ts';
import { sized, someOf } from '../support/histories.ts';
import { passSpec } from '../support/pass-spec.ts';
import { expectEqualToService, wrongTombstones } from '../support/truth.ts';

const THREE_INBOXES = { conversations: [12, 12, 12] };
const BUDGET = { perSecond: 1, perDay: 5000, reserved: 250 };

/** A mirror that a sync has filled an hour ago. */
async function filled(options: Parameters<typeof Cron.with>[0] = {}): Promise<Cron> {
  const cron = await Cron.with({ budget: BUDGET, ...options });
  await cron.sync();
  cron.clock.advance(HOUR);
  return cron;
}

/** The path without `/v1` and query. */
const plain = (path: string): string => path.replace(/^\/v1/, '').replace(/\?.*/, '');

function fail({ service }: Cron, isBroken: (path: string) => boolean, failure: ScriptedOutcome): void {
  service.sandbox.script(({ path }) => (isBroken(plain(path)) ? failure : undefined));
}

const REFUSED: ScriptedOutcome = { status: 429 };
const refusedFor = (seconds: number): ScriptedOutcome => ({
  status: 429,
  headers: { 'retry-after': String(seconds) },
});

describe('a list that hangs, and a cron that ends each run', () => {
  test.each(someOf([60, 20, 120], 1))('after %i s leave all other lists their readings', async (seconds) => {
    const cron = await filled({ sandbox: THREE_INBOXES });
    cron.timeoutMs = seconds * SECOND;
    const isBroken = (path: string): boolean => path === `/inboxes/${cron.ids[0]}/users`;
    cron.hangs = isBroken;
    await cron.every(15 * MINUTE, DAY);
    expect(Math.max(...(await cron.ages(isBroken)).values())).toBeLessThan(2 * HOUR);
  });

  test('after 30 s leave them also if the tags of all inboxes have half a body, with status 200', async () => {
    const cron = await filled({ sandbox: THREE_INBOXES });
    cron.timeoutMs = 30 * SECOND;
    const isBroken = (path: string): boolean => path.endsWith('/tags');
    fail(cron, isBroken, { status: 200, body: '{"results":[' });
    await cron.every(30 * MINUTE, DAY);
    expect(Math.max(...(await cron.ages(isBroken)).values())).toBeLessThan(2 * HOUR);
  });
});

describe('lists that draw 429s leave all others their readings', () => {
  const LISTS: [string, (path: string, ids: string[]) => boolean][] = [
    [
      'users of one inbox and tags of another',
      (path, [a, b]) => [`/inboxes/${a}/users`, `/inboxes/${b}/tags`].includes(path),
    ],
    ['the inboxes', (path) => path === '/inboxes'],
    ['all lists of an inbox', (path, [a]) => path.startsWith(`/inboxes/${a}/`)],
    ['all conversations', (path) => path.endsWith('/conversations')],
  ];

  test.each(someOf(LISTS, 2))('%s', async (_which, which) => {
    for (const failure of [REFUSED, refusedFor(7200)]) {
      const cron = await filled({ sandbox: THREE_INBOXES });
      const isBroken = (path: string): boolean => which(path, cron.ids);
      fail(cron, isBroken, failure);
      await cron.every(HOUR, 30 * HOUR, async (_run, passed) => {
        // The first runs tell which lists they are.
        if (passed >= 13 * HOUR)
          expect(Math.max(...(await cron.ages(isBroken)).values())).toBeLessThan(10 * MINUTE);
      });
      cron.service.sandbox.script(undefined);
      cron.clock.advance(6 * HOUR);
      await cron.sync();
      cron.clock.advance(HOUR);
      await expectEqualToService((await cron.sync()).mirror);
    }
  });
});

test('a daily sync that was stopped once reads all lists on the next day', async () => {
  const cron = await filled({ sandbox: THREE_INBOXES });
  cron.timeoutMs = 8 * SECOND;
  const { report } = await cron.sync();
  expect(report.stopped).toMatchObject({ code: 'STOPPED' });
  expect(report.lists.some(({ outcome }) => outcome === 'complete')).toBe(true);
  cron.timeoutMs = null;
  cron.clock.advance(DAY);
  await cron.sync();
  expect(Math.max(...(await cron.ages()).values())).toBeLessThan(MINUTE);
});

test.each([
  ['', 0],
  [', also if an inbox is suspected to be gone', 1],
])(
  'a sync that was stopped, and whose lists single syncs have read since, reads them again%s',
  async (_, gone) => {
    const cron = await filled({ sandbox: THREE_INBOXES });
    const { world } = cron.service.sandbox;
    for (const id of Array.from(world.inboxes.keys()).slice(0, gone)) world.removeInbox(id);
    cron.timeoutMs = 8 * SECOND;
    await cron.sync();
    cron.timeoutMs = null;
    for (const list of LIST_NAMES) await cron.sync({ lists: [list] });
    cron.clock.advance(3 * HOUR);
    const { requests } = await cron.sync();
    expect(requests).toBeGreaterThan(6);
  },
);

test("a key that is refused after a sync has completed yesterday's pass is reported", async () => {
  const cron = await filled({ sandbox: THREE_INBOXES });
  cron.timeoutMs = 6 * SECOND;
  await cron.sync();
  cron.timeoutMs = null;
  cron.clock.advance(DAY);
  let hasBegunAnew = false;
  cron.service.sandbox.script(({ path }) => {
    hasBegunAnew ||= plain(path) === '/inboxes';
    return hasBegunAnew ? { status: 401 } : undefined;
  });
  expect((await cron.sync()).report.stopped).toMatchObject({ code: 'KEY_REFUSED' });
});

test('a daily sync whose service was down once reads each list once on the next day', async () => {
  const cron = await filled({ sandbox: THREE_INBOXES });
  const { requests } = await cron.sync();
  cron.clock.advance(DAY);
  fail(cron, () => true, { status: 503 });
  await cron.sync();
  cron.service.sandbox.script(undefined);
  cron.clock.advance(DAY);
  expect((await cron.sync()).requests).toBe(requests);
});

test('a sync whose runs are all stopped says when it has read all lists', async () => {
  const cron = await filled({ sandbox: { conversations: Array<number>(6).fill(100) } });
  cron.timeoutMs = 6 * SECOND;
  const ended: boolean[] = [];
  await cron.every(2 * HOUR, 3 * DAY, ({ report }) => void ended.push(report.stopped === null));
  expect(ended).toContain(true);
});

test.each<[string, ScriptedOutcome]>([
  ['a reset', 'reset'],
  ['a 500', { status: 500 }],
])('after %s in a walk of one list, the next daily sync reads its first pages too', async (_, failure) => {
  const cron = await filled({ sandbox: { conversations: [300, 20] } });
  const { world } = cron.service.sandbox;
  const [inbox = ''] = cron.ids;
  const first = world.inbox(inbox).conversations.order[0]!;
  failLatePages(cron, failure);
  await cron.sync();
  cron.service.sandbox.script(undefined);
  world.setStatus(inbox, first, 'closed-since');
  cron.clock.advance(DAY);
  const { mirror } = await cron.sync();
  const rows = await mirror.database.query(`SELECT status FROM conversations WHERE id = $1`, first);
  expect(rows).toEqual([{ status: 'closed-since' }]);
});

test('a daily resync deletes rows and reads every page, although one question always fails', async () => {
  const cron = await filled({ sandbox: { conversations: [60, 20] } });
  const { world } = cron.service.sandbox;
  const [inbox = ''] = cron.ids;
  const { order } = world.inbox(inbox).conversations;
  const [bad, gone, kept] = [order[10]!, order[20]!, order[40]!];
  fail(cron, (path) => path.endsWith(`/conversations/${bad}`), { status: 500 });
  for (const id of [bad, gone]) world.removeConversation(inbox, id);
  for (let day = 0; day < 5; day += 1) {
    world.setStatus(inbox, kept, `of-day-${day}`);
    const { mirror } = await cron.sync({ kind: 'resync' });
    const rows = await mirror.database.query(`SELECT status FROM conversations WHERE id = $1`, kept);
    expect(rows).toEqual([{ status: `of-day-${day}` }]);
    cron.clock.advance(DAY);
  }
  const { mirror } = await cron.sync();
  const deleted = await mirror.database.query(`SELECT id FROM conversations WHERE deleted_at IS NOT NULL`);
  expect(deleted).toEqual([{ id: gone }]);
});

test('a resync reports a row that it deletes by a question that the resync before has left', async () => {
  const cron = await filled({ sandbox: { conversations: [60, 20] } });
  const { world } = cron.service.sandbox;
  const [inbox = ''] = cron.ids;
  const gone = world.inbox(inbox).conversations.order[10]!;
  fail(cron, (path) => path.endsWith(`/conversations/${gone}`), { status: 500 });
  world.removeConversation(inbox, gone);
  await cron.sync({ kind: 'resync' });
  cron.service.sandbox.script(undefined);
  cron.clock.advance(DAY);
  const { mirror, report } = await cron.sync({ kind: 'resync' });
  const deleted = await mirror.database.query(`SELECT id FROM conversations WHERE deleted_at IS NOT NULL`);
  expect(deleted).toEqual([{ id: gone }]);
  expect(report.lists.reduce((sum, list) => sum + list.deleted, 0)).toBe(1);
});

test('a resync that ends a walk of the resync before, and then fails, has not read the list', async () => {
  const cron = await filled({ sandbox: { conversations: [60, 20] } });
  const { world } = cron.service.sandbox;
  const [inbox = ''] = cron.ids;
  const { order } = world.inbox(inbox).conversations;
  const [gone, last] = [order[10]!, order.at(-1)!];
  fail(cron, (path) => path.endsWith(`/conversations/${gone}`), { status: 500 });
  world.removeConversation(inbox, gone);
  await cron.sync({ kind: 'resync' });
  cron.clock.advance(DAY);
  world.setStatus(inbox, last, 'closed-since');
  failLatePages(cron, { status: 500 });
  await cron.sync({ kind: 'resync' });
  cron.service.sandbox.script(undefined);
  cron.clock.advance(HOUR);
  const { mirror } = await cron.sync({ kind: 'resync' });
  const rows = await mirror.database.query(`SELECT status FROM conversations WHERE id = $1`, last);
  expect(rows).toEqual([{ status: 'closed-since' }]);
});

test('a daily resync that was stopped once reads all lists on the next day', async () => {
  const cron = await filled({ sandbox: { conversations: [12, 12, 12] } });
  cron.clock.advance(DAY);
  cron.timeoutMs = 8 * SECOND;
  await cron.sync({ kind: 'resync' });
  cron.timeoutMs = null;
  cron.clock.advance(DAY);
  await cron.sync({ kind: 'resync' });
  expect(Math.max(...(await cron.ages()).values())).toBeLessThan(HOUR);
});

test('a sync that takes days ends when it has read all lists', async () => {
  const cron = await filled({ sandbox: { conversations: [300, 300] } });
  cron.clock.advance(DAY);
  cron.budget = { ...BUDGET, perDay: 40, reserved: 0 };
  const ended: boolean[] = [];
  await cron.every(DAY, 4 * DAY, ({ report }) => void ended.push(report.stopped === null));
  expect(ended).toContain(true);
});

test('a daily sync of a large account continues each day, and starts over with the requests that are left', async () => {
  const cron = await Cron.with({
    budget: { perSecond: 1, perDay: sized(60, 200), reserved: 0 },
    sandbox: { conversations: Array<number>(3).fill(sized(480, 1600)) },
  });
  const begun = cron.clock.now();
  const requests = [];
  for (let day = 0; day < 6; day += 1) {
    // The start of a process takes a moment, and not the same one each day.
    cron.clock.advance(begun + day * DAY + ((day * 7) % 3) * 400 - cron.clock.now());
    requests.push((await cron.sync()).requests);
  }
  for (const count of requests) expect(count).toBeGreaterThan(sized(57, 190));
});

test('a list whose 429s ask to wait a day silences the others for one day only', async () => {
  const cron = await filled({ sandbox: THREE_INBOXES });
  const isBroken = (path: string): boolean => path === `/inboxes/${cron.ids[0]}/users`;
  fail(cron, isBroken, refusedFor(86_400));
  await cron.every(HOUR, 3 * DAY, async (_run, passed) => {
    if (passed >= 2 * DAY + 2 * HOUR)
      expect(Math.max(...(await cron.ages(isBroken)).values())).toBeLessThan(10 * MINUTE);
  });
});

test.each(['sync', 'resync'] as const)(
  'a daily %s reads all lists but one that draws 429s each day',
  async (kind) => {
    const cron = await filled({ sandbox: THREE_INBOXES });
    const isBroken = (path: string): boolean => path === `/inboxes/${cron.ids[0]}/users`;
    fail(cron, isBroken, REFUSED);
    for (let day = 0; day < 6; day += 1) {
      await cron.sync({ kind });
      // The first days tell which list it is.
      if (day >= 2) expect(Math.max(...(await cron.ages(isBroken)).values())).toBeLessThan(HOUR);
      cron.clock.advance(DAY);
    }
  },
);

test.each<[string, (path: string, ids: string[]) => boolean]>([
  [
    'users of one inbox and tags of another',
    (path, [a, b]) => [`/inboxes/${a}/users`, `/inboxes/${b}/tags`].includes(path),
  ],
  ['all lists of an inbox', (path, [a]) => path.startsWith(`/inboxes/${a}/`)],
])('a daily sync reads all lists but %s, which draw 429s each day', async (_which, which) => {
  const cron = await filled({ sandbox: THREE_INBOXES });
  const isBroken = (path: string): boolean => which(path, cron.ids);
  fail(cron, isBroken, REFUSED);
  for (let day = 0; day < 10; day += 1) {
    await cron.sync();
    // The first days tell which lists they are.
    if (day >= 5) expect(Math.max(...(await cron.ages(isBroken)).values())).toBeLessThan(1.5 * DAY);
    cron.clock.advance(DAY);
  }
});

test('a list that is refused while the list of inboxes draws 429s leaves the others their readings', async () => {
  const cron = await filled({ sandbox: { conversations: [12] } });
  const [id] = cron.ids;
  const answers = new Map<string, ScriptedOutcome>([
    [`/inboxes/${id}/conversations`, { status: 403 }],
    ['/inboxes', REFUSED],
  ]);
  cron.service.sandbox.script(({ path }) => answers.get(plain(path)));
  await cron.every(15 * MINUTE, 2 * HOUR);
  answers.set(`/inboxes/${id}/users`, refusedFor(3600));
  await cron.every(15 * MINUTE, DAY, async (_, passedMs) => {
    const ages = await cron.ages((path) => answers.has(path));
    if (passedMs >= 8 * HOUR) expect(Math.max(...ages.values())).toBeLessThan(8 * HOUR);
  });
});

test('syncs that are stopped at a list that fails come to a list that ended an earlier run', async () => {
  // Without a second between requests, `timeout` ends each run at the same request.
  const cron = await filled({ sandbox: { conversations: [12] }, budget: {} });
  const [id] = cron.ids;
  const answers = new Map<string, ScriptedOutcome>([
    ['/inboxes', REFUSED],
    [`/inboxes/${id}/users`, { status: 503, headers: { 'retry-after': '10' } }],
    [`/inboxes/${id}/tags`, refusedFor(3600)],
  ]);
  cron.service.sandbox.script(({ path }) => answers.get(plain(path)));
  cron.timeoutMs = 60 * SECOND;
  await cron.every(15 * MINUTE, DAY, async (_, passedMs) => {
    const ages = await cron.ages((path) => answers.has(path));
    if (passedMs >= 8 * HOUR) expect(Math.max(...ages.values())).toBeLessThan(8 * HOUR);
  });
});

test('a resync that took days reads only the list that failed, if it is repeated within 20 hours', async () => {
  const cron = await filled({
    sandbox: { conversations: [100, 100, 100] },
    budget: { ...BUDGET, perDay: 24, reserved: 0 },
  });
  cron.clock.advance(2 * DAY);
  await cron.sync();
  const isBroken = (path: string): boolean => path === `/inboxes/${cron.ids[0]}/users`;
  fail(cron, isBroken, { status: 500 });
  let isDone = false;
  for (let hours = 0; hours < 8 * 24 && !isDone; hours += 2) {
    isDone = (await cron.sync({ kind: 'resync' })).report.stopped === null;
    cron.clock.advance(2 * HOUR);
  }
  expect(isDone).toBe(true);
  cron.service.sandbox.script(undefined);
  cron.clock.advance(16 * HOUR);
  const { report, requests } = await cron.sync({ kind: 'resync' });
  expect({ stopped: report.stopped, isOpen: report.isOpen, requests }).toEqual({
    stopped: null,
    isOpen: false,
    requests: 1,
  });
});

test('searches for users and tags that are gone end, although no run can send all of them', async () => {
  const sandbox = { conversations: [5, 5, 5], usersPerInbox: 210, tagsPerInbox: 210 };
  const cron = await filled({ sandbox, pageSize: 100 });
  const { world } = cron.service.sandbox;
  for (const inbox of world.inboxes.values()) {
    for (const id of inbox.users.order.slice(0, 20)) world.removeUser(inbox.id, id);
    for (const id of inbox.tags.order.slice(0, 20)) world.removeTag(inbox.id, id);
  }
  cron.timeoutMs = MINUTE;
  await cron.every(15 * MINUTE, 3 * HOUR);
  for (const age of (await cron.ages()).values()) expect(age).toBeLessThan(2 * HOUR);
  cron.timeoutMs = null;
  await expectEqualToService((await cron.sync()).mirror);
});

describe('questions about single rows that draw 429s', () => {
  const QUESTIONS: [string, RegExp, ScriptedOutcome, number][] = [
    ['single conversations', /\/conversations\/\d+$/, REFUSED, 8],
    ['searches that ask to wait', /\/search$/, refusedFor(7200), 16],
    ['single conversations that ask to wait', /\/conversations\/\d+$/, refusedFor(7200), 8],
    ['searches', /\/search$/, REFUSED, 8],
  ];

  test.each(someOf(QUESTIONS, 2))(
    'leave all lists their readings, and cost few requests: %s',
    async (_which, paths, failure, hours) => {
      const sandbox = { conversations: [60, 60, 60], usersPerInbox: 30, tagsPerInbox: 30 };
      const cron = await filled({ sandbox, pageSize: 100 });
      const { world, arrivals } = cron.service.sandbox;
      fail(cron, (path) => paths.test(path), failure);
      const from = arrivals.length;
      await cron.every(HOUR, DAY, async (_run, passed) => {
        for (const inbox of world.inboxes.values()) {
          if (passed % (4 * HOUR) === 0) world.removeConversation(inbox.id, inbox.conversations.order[7]!);
          if (passed === 3 * HOUR) world.removeTag(inbox.id, inbox.tags.order[3]!);
        }
        if (passed >= hours * HOUR)
          expect(Math.max(...(await cron.ages()).values())).toBeLessThan(10 * MINUTE);
      });
      const refused = arrivals.slice(from).filter(({ status }) => status === 429).length;
      expect(refused).toBeLessThanOrEqual(20);
    },
  );

  test.each<[list: 'users' | 'tags', failure: ScriptedOutcome, times: number]>([
    ['users', refusedFor(300), 2],
    ['users', REFUSED, 2],
    ['tags', refusedFor(900), 2],
    ['tags', { status: 503, headers: { 'retry-after': '300' } }, 4],
    ['users', { status: 500 }, 12],
    ['users', 'reset', 12],
  ])(
    'or fail delete none of the %s that a list leaves out and the search finds: %j',
    async (list, failure, times) => {
      const cron = await filled({
        sandbox: { conversations: [12], usersPerInbox: 30, tagsPerInbox: 30 },
        pageSize: 100,
      });
      const path = `/inboxes/${cron.ids[0]}/${list}`;
      const page = await cron.service.http.get(path, { limit: '100' });
      const { results, ...rest } = JSON.parse(page.body) as { results: unknown[] };
      const body = JSON.stringify({ ...rest, results: results.toSpliced(5, 5) });
      let searches = 0;
      cron.service.sandbox.script(({ path: asked }) => {
        if (plain(asked) === path) return { status: 200, body };
        if (!plain(asked).endsWith('/search')) return undefined;
        searches += 1;
        return searches <= times ? failure : undefined;
      });
      for (let runs = 0; runs < 10; runs += 1) {
        expect(await wrongTombstones((await cron.sync()).mirror)).toEqual([]);
        cron.clock.advance(runs < 4 ? 15 * MINUTE : 2 * HOUR);
      }
      expect(searches).toBeGreaterThan(times);
    },
  );

  test('for one conversation keep no other deletion of its inbox unknown', async () => {
    const cron = await filled({ sandbox: { conversations: [60] }, pageSize: 100 });
    const { world } = cron.service.sandbox;
    const [inbox] = world.inboxes.values();
    const ids = inbox!.conversations.order.slice(10, 14);
    fail(cron, (path) => path.endsWith(`/conversations/${ids[0]}`), REFUSED);
    for (const id of ids) world.removeConversation(inbox!.id, id);
    await cron.every(HOUR, 2 * DAY);
    const { mirror } = await cron.sync();
    const gone = `SELECT id FROM conversations WHERE deleted_at IS NOT NULL ORDER BY id`;
    expect(await mirror.database.query(gone)).toEqual(ids.slice(1).map((id) => ({ id })));
  });

  test('for the neighbours of a deleted conversation hide its deletion for a day at most', async () => {
    const cron = await filled({ sandbox: { conversations: [60, 12, 12] }, pageSize: 100 });
    const { world } = cron.service.sandbox;
    const [inbox] = world.inboxes.values();
    const ids = inbox!.conversations.order.toSorted();
    const around = [ids[19], ids[21]].map((id) => `/conversations/${id}`);
    fail(cron, (path) => around.some((end) => path.endsWith(end)), REFUSED);
    await cron.every(HOUR, 3 * HOUR);
    world.removeConversation(inbox!.id, ids[20]!);
    await cron.every(HOUR, DAY);
    const { mirror } = await cron.sync();
    const gone = `SELECT id FROM conversations WHERE deleted_at IS NOT NULL`;
    expect(await mirror.database.query(gone)).toEqual([{ id: ids[20] }]);
  });

  test('of an inbox that its list leaves out leave all other lists their readings', async () => {
    const cron = await filled({ sandbox: THREE_INBOXES });
    const [gone = ''] = cron.ids;
    const page = await cron.service.http.get('/inboxes', { limit: '10' });
    const list = JSON.parse(page.body) as { results: { id: string }[] };
    const body = JSON.stringify({ ...list, results: list.results.filter(({ id }) => id !== gone) });
    cron.service.sandbox.script(({ path }) => {
      if (plain(path) === '/inboxes') return { status: 200, body };
      return plain(path) === `/inboxes/${gone}` ? REFUSED : undefined;
    });
    await cron.every(HOUR, DAY);
    const ages = await cron.ages((path) => path.startsWith(`/inboxes/${gone}/`));
    expect(Math.max(...ages.values())).toBeLessThan(3 * HOUR);
  });
});

test.each(someOf([404, 400, 403], 1))(
  'a list of which a later page answers %i takes a quarter of the requests, and says that it rests',
  async (status) => {
    const perDay = 1000;
    const cron = await filled({
      sandbox: { conversations: [300, 12, 12] },
      budget: { ...BUDGET, perDay },
    });
    const { sandbox } = cron.service;
    let pages = 0;
    const isBroken = (path: string): boolean => path === `/inboxes/${cron.ids[0]}/conversations`;
    sandbox.script(({ path }) => {
      if (!isBroken(plain(path))) return undefined;
      pages = path.includes('next_page') ? pages + 1 : 1;
      return pages > 20 ? { status } : undefined;
    });
    const from = sandbox.arrivals.length;
    let said = '';
    await cron.every(HOUR, DAY, ({ report }) => {
      for (const { error } of report.lists) if (error instanceof Error) said += error.message;
    });
    const cost = sandbox.arrivals.slice(from).filter(({ path }) => isBroken(plain(path))).length;
    expect(cost).toBeLessThan(perDay / 4 + 63);
    expect(Math.max(...(await cron.ages(isBroken)).values())).toBeLessThan(1.5 * HOUR);
    expect(said).toContain(`so it rests until 2026-`);
    expect(said).toContain(`\`inbox-mirror resync conversations --inbox ${cron.ids[0]}\` reads it now.`);
  },
);

test('a list whose walk failed does not rest longer because walks of inboxes failed that are gone since', async () => {
  const cron = await filled({ sandbox: { conversations: [300, 250, 250, 250] }, budget: BUDGET });
  const { sandbox } = cron.service;
  const [first = '', ...gone] = cron.ids;
  let pages = 0;
  sandbox.script(({ path }) => {
    if (!path.includes('/conversations?')) return undefined;
    pages = path.includes('next_page') ? pages + 1 : 1;
    return pages > 20 ? { status: 200, body: '{}' } : undefined;
  });
  await cron.sync();
  for (const id of gone) sandbox.world.removeInbox(id);
  await cron.every(HOUR, 6 * HOUR);
  await cron.sync();
  cron.clock.advance(MINUTE);
  const { mirror, report } = await cron.sync();
  const { error } = report.lists.find(({ key }) => key.list === 'conversations' && key.inboxId === first)!;
  const [failed] = await mirror.database.query<{ finished_at: Date }>(
    `SELECT finished_at FROM sweeps WHERE state = 'failed' AND inbox_id = $1 ORDER BY id DESC LIMIT 1`,
    first,
  );
  const restMs = (21 * DAY) / ((BUDGET.perDay - BUDGET.reserved) / 4);
  expect(error).toMatchObject({ resumeAt: new Date(failed!.finished_at.getTime() + Math.floor(restMs)) });
});

test('lists of which a later page fails share a quarter of the requests', async () => {
  const perDay = 1000;
  const cron = await filled({
    sandbox: { conversations: Array<number>(4).fill(300) },
    budget: { ...BUDGET, perDay },
  });
  const { sandbox } = cron.service;
  let pages = 0;
  sandbox.script(({ path }) => {
    if (!path.includes('/conversations?')) return undefined;
    pages = path.includes('next_page') ? pages + 1 : 1;
    return pages > 20 ? { status: 404 } : undefined;
  });
  const from = sandbox.arrivals.length;
  await cron.every(HOUR, DAY);
  const cost = sandbox.arrivals.slice(from).filter(({ path }) => path.includes('/conversations?')).length;
  // The first walk of each list, and one more.
  expect(cost).toBeLessThanOrEqual(2 * 4 * 63);
});

test.each<[string, number, ScriptedOutcome]>([
  ['resets, each hour', HOUR, 'reset'],
  ['503s, each day', DAY, { status: 503 }],
  ['429s, each hour', HOUR, REFUSED],
])(
  'beside a list that fails for days, all others of its kind are read after a run that ended with %s',
  async (_, every, outcome) => {
    const cron = await filled({ sandbox: { conversations: Array<number>(4).fill(12) } });
    const isBroken = (path: string): boolean => path === `/inboxes/${cron.ids[2]}/users`;
    let isDown: boolean | null = null;
    cron.service.sandbox.script(({ path }) => {
      if (isBroken(plain(path))) return { status: 500 };
      if (isDown === false && path.includes('/users?')) isDown = true;
      return isDown === true ? outcome : undefined;
    });
    await cron.every(every, 3 * every);
    isDown = false;
    await cron.every(every, every);
    expect(isDown, 'the run has met the trouble').toBe(true);
    isDown = null;
    await cron.every(every, 6 * every);
    expect(Math.max(...(await cron.ages(isBroken)).values())).toBeLessThan(3 * every);
  },
);

test.each<[string, number]>([
  ['a daily sync', DAY],
  ['an hourly sync', HOUR],
])('%s reads the healthy lists of a kind, although the first ten of twenty fail', async (_, every) => {
  const cron = await filled({ sandbox: { conversations: Array<number>(20).fill(3) } });
  cron.clock.advance(every);
  const isBroken = (path: string): boolean =>
    cron.ids.slice(0, 10).some((id) => path === `/inboxes/${id}/conversations`);
  fail(cron, isBroken, { status: 500 });
  for (let runs = 0; runs < 5; runs += 1) {
    await cron.sync();
    if (runs > 1) expect(Math.max(...(await cron.ages(isBroken)).values()), `run ${runs}`).toBeLessThan(HOUR);
    cron.clock.advance(every);
  }
});

test('after a day on which a kind failed in all inboxes, those that are answered again are read the next day', async () => {
  const cron = await filled({ sandbox: { conversations: Array<number>(4).fill(12) } });
  cron.clock.advance(DAY);
  let isFirstDay = true;
  const isBroken = (path: string): boolean =>
    path.endsWith('/users') && (isFirstDay || !path.includes(`/${cron.ids[3]}/`));
  fail(cron, isBroken, { status: 500 });
  await cron.sync();
  isFirstDay = false;
  for (let day = 0; day < 3; day += 1) {
    cron.clock.advance(DAY);
    await cron.sync();
    expect(Math.max(...(await cron.ages(isBroken)).values()), `day ${day}`).toBeLessThan(HOUR);
  }
});

test('lists of a kind that begin to fail, one more each day, leave all others of the kind their readings', async () => {
  const cron = await filled({ sandbox: { conversations: Array<number>(6).fill(12) } });
  let day = 0;
  const isBroken = (path: string): boolean =>
    cron.ids.slice(0, day + 1).some((id) => path === `/inboxes/${id}/users`);
  fail(cron, isBroken, { status: 500 });
  for (; day < 5; day += 1) {
    await cron.sync();
    expect(Math.max(...(await cron.ages(isBroken)).values()), `day ${day}`).toBeLessThan(HOUR);
    cron.clock.advance(DAY);
  }
});

test('a walk of a large list that failed once is repeated by the next daily sync', async () => {
  const cron = await filled({
    sandbox: { conversations: [1500, 12] },
    budget: { ...BUDGET, perDay: 500, reserved: 0 },
  });
  cron.clock.advance(DAY);
  let pages = 0;
  cron.service.sandbox.script(({ path }) => {
    if (plain(path) !== `/inboxes/${cron.ids[0]}/conversations`) return undefined;
    pages += 1;
    return pages > 140 ? { status: 404 } : undefined;
  });
  await cron.sync();
  expect(pages).toBeGreaterThan(140);
  cron.service.sandbox.script(undefined);
  cron.clock.advance(DAY - 5 * MINUTE);
  await cron.sync();
  expect(Math.max(...(await cron.ages()).values())).toBeLessThan(HOUR);
});

/** Lets the pages of the first inbox's conversations after the fifth fail, for as long as `isDown` says so. */
function failLatePages({ service, ids }: Cron, failure: ScriptedOutcome, isDown = (): boolean => true): void {
  let pages = 0;
  service.sandbox.script(({ path }) => {
    if (plain(path) !== `/inboxes/${ids[0]}/conversations`) return undefined;
    pages = path.includes('next_page') ? pages + 1 : 1;
    if (pages <= 5) return undefined;
    if (isDown()) return failure;
    return undefined;
  });
}

test.each<[string, ScriptedOutcome]>([
  ['a 500', { status: 500 }],
  ['half a body', { status: 200, body: '{"results": [' }],
  ['a 429', REFUSED],
])('while a later page draws %s, the pages before it are read once a day', async (_, failure) => {
  const cron = await filled({ sandbox: { conversations: [100, 12] } });
  const { world } = cron.service.sandbox;
  const [inbox = ''] = cron.ids;
  failLatePages(cron, failure);
  await cron.every(HOUR, 4 * HOUR);
  const [changed = ''] = [...world.inboxes.get(inbox)!.conversations.keys()];
  world.setStatus(inbox, changed, 'pending');
  let status: unknown;
  await cron.every(HOUR, 30 * HOUR, async ({ mirror }) => {
    const [row] = await mirror.database.query<{ status: string }>(
      'SELECT status FROM conversations WHERE id = $1',
      changed,
    );
    status = row?.status;
  });
  expect(status).toBe('pending');
});

test('a first copy that takes days continues where it stopped, although one list fails each night', async () => {
  const cron = await Cron.with({ sandbox: { conversations: [1000, 12] }, budget: BUDGET });
  cron.timeoutMs = 15 * SECOND;
  failLatePages(cron, { status: 500 }, () => new Date(cron.clock.now()).getUTCHours() < 8);
  let states: string[] = [];
  await cron.every(2 * HOUR, 3 * DAY, async ({ mirror }) => {
    const sweeps = await mirror.database.query<{ state: string }>(
      `SELECT state FROM sweeps WHERE inbox_id = $1 AND list = 'conversations'`,
      cron.ids[0],
    );
    states = sweeps.map(({ state }) => state);
  });
  expect(states).toContain('complete');
  expect(states).not.toContain('abandoned');
});

test('a sync that takes days reads all lists, although the service is down each night', async () => {
  const cron = await filled({ sandbox: { conversations: Array<number>(10).fill(300) } });
  cron.budget = { perSecond: 1, perDay: 150, reserved: 0 };
  cron.clock.advance(DAY);
  let isNight = true;
  cron.service.sandbox.script(() => (isNight ? 'reset' : undefined));
  await cron.every(
    HOUR,
    sized(6, 8) * DAY,
    (_run, passed) => void (isNight = (passed + HOUR) % DAY < 9 * HOUR),
  );
  const ages = await cron.ages();
  expect(Math.max(...ages.values())).toBeLessThan(3 * DAY);
});

test('a list that would rest after its walk failed does not hide that the budget is used up', async () => {
  const cron = await filled({ sandbox: { conversations: [300] } });
  const path = `/inboxes/${cron.ids[0]}/conversations`;
  let pages = 0;
  cron.service.sandbox.script(({ path: asked }) => {
    if (plain(asked) !== path) return undefined;
    pages += 1;
    return pages > 20 ? { status: 404 } : undefined;
  });
  await cron.sync();
  cron.budget = { ...BUDGET, perDay: 1, isUsedUp: true };
  const { report } = await cron.sync({ lists: ['conversations'], inboxId: cron.ids[0]! });
  expect(report.stopped).toMatchObject({ code: 'BUDGET_SPENT' });
});

describe('an outage in a first sync that lasts for days', () => {
  test.each<[string, ScriptedOutcome]>([
    ['resets', 'reset'],
    ['503s that ask to wait', { status: 503, headers: { 'retry-after': '600' } }],
    ['429s that ask to wait', refusedFor(600)],
  ])('of %s costs no complete list again', async (_which, failure) => {
    const cron = await Cron.with({
      sandbox: { conversations: [100, 100, 100, 100] },
      budget: { perSecond: 1 / 90, perDay: 5000, reserved: 0 },
    });
    const { sandbox } = cron.service;
    sandbox.script(() => (sandbox.arrivals.length > 35 ? failure : undefined));
    await cron.sync();
    cron.clock.advance(10 * MINUTE);
    await cron.sync();
    cron.clock.advance(20 * MINUTE);
    sandbox.script(undefined);
    const { report, requests } = await cron.sync();
    expect(report.stopped).toBeNull();
    // 49 pages in all.
    expect(requests).toBeLessThanOrEqual(49 - 34 + 1);
  });
});

test.each<[string, ScriptedOutcome]>([
  ['a 500', { status: 500 }],
  ['a reset', 'reset'],
  ['429s', REFUSED],
  ['a 503 that asks to wait', { status: 503, headers: { 'retry-after': '3600' } }],
  ['a 404', { status: 404 }],
  ['an answer of another shape', { status: 200, body: '{}' }],
])(
  'while the list of inboxes draws %s, another account with the same ids writes no row',
  async (_what, failure) => {
    for (const runsBefore of [0, 4]) {
      const cron = await filled({ sandbox: THREE_INBOXES });
      const { inboxes } = cron.service.sandbox.world;
      fail(cron, (path) => path === '/inboxes', failure);
      await cron.every(HOUR, runsBefore * HOUR);
      for (const inbox of inboxes.values()) {
        inbox.email = `other-${inbox.id}@else.example`;
        for (const user of inbox.users.values()) user.first_name = 'Stranger';
      }
      await cron.every(HOUR, 4 * HOUR);
      const { mirror } = await cron.sync();
      const strangers = `SELECT id FROM inbox_users WHERE first_name = 'Stranger'`;
      expect(await mirror.database.query(strangers)).toEqual([]);
    }
  },
);

test('a sync does not resume an order that a daemon left half done days ago', async () => {
  const cron = await filled({ sandbox: THREE_INBOXES });
  const { mirror } = await cron.sync();
  const { id } = await mirror.writer.orders.place(passSpec({}), cron.clock.now());
  const stop = new AbortController();
  void cron.clock.sleep(6 * SECOND).then(() => stop.abort());
  await mirror.sync({ orderId: id }, stop.signal);
  cron.clock.advance(5 * DAY);
  const { report } = await cron.sync();
  expect(report.pass.resumed).toBe(false);
  expect(Math.max(...(await cron.ages()).values())).toBeLessThan(HOUR);
});
