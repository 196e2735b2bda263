import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import { MirrorError } from '../../src/core/errors.ts';
import { keysByInbox, listId } from '../../src/core/lists.ts';
import type { PassSpec } from '../../src/mirror/passes/passes.ts';
import { isComplete } from '../../src/sync/events.ts';
import type { ScriptedOutcome } from '../../src/sandbox/sandbox.ts';
import type { CallOptions } from '../../src/service/client.ts';
import { listPath } from '../../src/service/paths.ts';
import { TestClock } from '../support/clock.ts';
import type { TestMirror } from '../support/mirror.ts';
import { passSpec } from '../support/pass-spec.ts';
import { askedSince, count, firstInbox, reportOn } from '../support/rows.ts';
import { syncedMirror } from '../support/settle.ts';
import { quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

/** More inboxes than a pass reads lists side by side. */
const SIX_INBOXES = { sandbox: { conversations: [30, 30, 30, 30, 30, 30] } };

/** As many inboxes as a pass reads lists side by side. */
const FOUR_INBOXES = { sandbox: { conversations: [30, 30, 30, 30] } };

/** As in the program: a pause of over 2 minutes stops a pass. */
const PATIENT = { patienceMs: 2 * MINUTE };

const ASKS_TO_WAIT: ScriptedOutcome = { status: 503, headers: { 'retry-after': '3600' } };

/** JSON of another shape than a list's. */
const WRONG: ScriptedOutcome = { status: 200, body: '{}' };

const FAILURES: [string, ScriptedOutcome][] = [
  ['a 500', { status: 500 }],
  ['a reset connection', 'reset'],
  ['a 503 that asks to wait', ASKS_TO_WAIT],
  ['a body cut short', { status: 200, body: '{"results":[{"id":"1"' }],
];

const FAILS_ALONE = { code: 'ANSWER_FAILED' };
const IS_DOWN = { code: 'SERVICE_DOWN' };

/** The list's name once for each of six inboxes. */
const sixTimes = (list: string): string[] => Array.from({ length: 6 }, () => list);

/** Answers requests whose path matches `paths` with a failure, until the script is replaced. */
function fail(
  { sandbox }: TestMirror,
  paths: RegExp,
  failure: ScriptedOutcome | ((path: string) => ScriptedOutcome),
): void {
  const answer = typeof failure === 'function' ? failure : () => failure;
  sandbox.script(({ path }) => (paths.test(path) ? answer(path) : undefined));
}

describe('a kind of list that fails in every inbox', () => {
  test.each(FAILURES)('with %s does not keep sync from reading all other lists', async (_, failure) => {
    const mirror = await quickMirror(SIX_INBOXES);
    fail(mirror, /\/(users|tags)\?/, failure);
    const report = await mirror.sync();
    expect(report.stopped).toBeNull();
    const broken = report.lists.filter(({ outcome }) => outcome !== 'complete');
    expect(broken.map(({ key }) => key.list).toSorted()).toEqual([...sixTimes('tags'), ...sixTimes('users')]);
    for (const { error } of broken) expect(error).toMatchObject(FAILS_ALONE);
    expect(await count(mirror.database, 'conversations')).toBe(180);
    mirror.sandbox.script(undefined);
    mirror.clock.advance(HOUR);
    await mirror.sync();
    await expectEqualToService(mirror);
  });

  test('costs one request to /inboxes for the lists that fail at the same time', async () => {
    const mirror = await quickMirror(FOUR_INBOXES);
    fail(mirror, /\/users\?/, { status: 500 });
    await mirror.sync({ lists: ['users'] });
    const asked = mirror.sandbox.arrivals.map(({ path }) => path);
    expect(asked.filter((path) => path.includes('/users?'))).toHaveLength(16);
    // The first reads the inboxes, which the mirror did not know.
    expect(asked.filter((path) => path.includes('/inboxes?'))).toHaveLength(2);
  });

  test('costs five requests in each later run, and is read whole in the first run after it works again', async () => {
    const mirror = await quickMirror({ sandbox: { conversations: Array<number>(25).fill(3) } });
    fail(mirror, /\/(users|tags|conversations)\?/, 'reset');
    const costs = [];
    for (let hour = 0; hour < 4; hour += 1) {
      const before = mirror.sandbox.arrivals.length;
      const report = await mirror.sync();
      expect(report.lists).toHaveLength(76);
      costs.push(mirror.sandbox.arrivals.length - before);
      mirror.clock.advance(HOUR);
    }
    // As four lists are read side by side, up to seven have begun before the fourth has failed.
    expect(costs[0]).toBeLessThanOrEqual(1 + 3 * (7 * 4 + 4));
    expect(costs.slice(1)).toEqual(Array.from({ length: 3 }, () => 1 + 3 * 5));
    mirror.sandbox.script(undefined);
    expect((await mirror.sync()).lists.filter((list) => !isComplete(list))).toEqual([]);
    await expectEqualToService(mirror);
  });

  test('costs five requests in each later run, although one of its lists asks to wait for a day', async () => {
    const mirror = await quickMirror(SIX_INBOXES);
    const first = `/inboxes/${firstInbox(mirror.sandbox).id}/`;
    const asksToWait: ScriptedOutcome = { status: 503, headers: { 'retry-after': '86400' } };
    fail(mirror, /\/users\?/, (path) => (path.includes(first) ? asksToWait : { status: 500 }));
    const costs: number[] = [];
    for (let hour = 0; hour < 6; hour += 1) {
      const from = mirror.sandbox.arrivals.length;
      await mirror.sync();
      costs.push(askedSince(mirror.sandbox, from).filter((path) => path.includes('/users?')).length);
      mirror.clock.advance(HOUR);
    }
    expect(Math.max(...costs.slice(1))).toBeLessThanOrEqual(5);
  });

  test('is read in all other inboxes when it fails in one inbox only', async () => {
    const mirror = await quickMirror(SIX_INBOXES);
    fail(mirror, /\/users\?/, 'reset');
    for (let hour = 0; hour < 3; hour += 1) {
      await mirror.sync();
      mirror.clock.advance(HOUR);
    }
    const first = firstInbox(mirror.sandbox).id;
    fail(mirror, new RegExp(`/${first}/users\\?`), 'reset');
    await mirror.sync();
    const report = await mirror.sync();
    expect(report.lists.filter((list) => !isComplete(list)).map(({ key }) => listId(key))).toEqual([
      `users/${first}`,
    ]);
  });
});

describe('a request that fails costs no request for another path', () => {
  test.each<[string, Partial<CallOptions>, ScriptedOutcome, number]>([
    ['for scheduled work', { reason: 'schedule' }, 'reset', 4],
    ['if it may be sent only once', { tries: 1 }, 'reset', 1],
  ])('%s', async (_, options, failure, requests) => {
    const mirror = await syncedMirror(0, SIX_INBOXES);
    mirror.sandbox.script(() => failure);
    const before = mirror.sandbox.arrivals.length;
    const key = { list: 'users', inboxId: firstInbox(mirror.sandbox).id } as const;
    await expect(mirror.client.listPage(key, null, { reason: 'manual', ...options })).rejects.toThrow();
    expect(mirror.sandbox.arrivals.length - before).toBe(requests);
  });
});

describe('inboxes that cannot be listed', () => {
  test.each(FAILURES)(
    'with %s do not keep sync from reading the lists of the inboxes that the mirror knows',
    async (_, failure) => {
      const mirror = await syncedMirror(0, SIX_INBOXES);
      fail(mirror, /\/inboxes\?/, failure);
      const before = mirror.sandbox.arrivals.length;
      const report = await mirror.sync();
      expect(report.stopped).toBeNull();
      expect(report.lists.filter(({ outcome }) => outcome !== 'complete')).toMatchObject([
        { key: { list: 'inboxes' }, error: FAILS_ALONE },
      ]);
      expect(askedSince(mirror.sandbox, before).filter((path) => path.includes('/inboxes?'))).toHaveLength(4);
    },
  );
});

describe('where /inboxes fails too', () => {
  test.each<[string, Record<string, ScriptedOutcome>]>([
    ['that all fail', { '': 'reset' }],
    ['of which one asks to wait', { '': 'reset', '20117': ASKS_TO_WAIT }],
    ['that all ask to wait', { '': ASKS_TO_WAIT }],
  ])('users %s do not keep sync from reading all other lists', async (_, failures) => {
    const mirror = await syncedMirror(0, { ...SIX_INBOXES, gate: PATIENT });
    mirror.sandbox.script(({ path }) => {
      if (path.includes('/inboxes?')) return { status: 500 };
      const [, id = ''] = /(\d+)\/users\?/.exec(path) ?? [];
      return id === '' ? undefined : (failures[id] ?? failures['']);
    });
    const report = await mirror.sync();
    expect(report.stopped).toBeNull();
    const broken = report.lists.filter((list) => !isComplete(list)).map(({ key }) => key.list);
    expect(broken).toEqual(['inboxes', ...sixTimes('users')]);
  });

  test('a list keeps its four tries while another list asks for an inbox', async () => {
    const clock = new TestClock();
    const mirror = await syncedMirror(0, {
      sandbox: FOUR_INBOXES.sandbox,
      clock,
      gate: PATIENT,
      wrapHttp: (http) => ({
        close: http.close,
        get: async (path, query) => {
          if (/\/inboxes\/\d+$/.test(path)) await clock.sleep(5 * SECOND);
          return await http.get(path, query);
        },
      }),
    });
    const { id } = firstInbox(mirror.sandbox);
    mirror.sandbox.script(({ path }) => {
      if (path.includes('/inboxes?')) return 'reset';
      if (path.includes(`/${id}/users?`)) return ASKS_TO_WAIT;
      return path.includes('/users?') ? 'reset' : undefined;
    });
    expect((await mirror.sync({ lists: ['users'] })).stopped).toBeNull();
  });
});

test('after three idle hours, a sync reads all lists but the one that fails and asks to wait', async () => {
  const mirror = await syncedMirror(0, { ...SIX_INBOXES, gate: PATIENT });
  fail(mirror, new RegExp(`/${firstInbox(mirror.sandbox).id}/tags\\?`), ASKS_TO_WAIT);
  mirror.clock.advance(3 * HOUR);
  const report = await mirror.sync({ lists: ['tags'] });
  expect(report.lists.map(({ outcome }) => outcome).toSorted()).toEqual([
    ...Array<string>(5).fill('complete'),
    'paused',
  ]);
});

test('a kind that has stopped the pass is read after healthy lists of one that has failed', async () => {
  const mirror = await syncedMirror(0, { ...SIX_INBOXES, gate: PATIENT });
  const { sandbox, clock } = mirror;
  const broken = `/${firstInbox(sandbox).id}/conversations?`;
  sandbox.script(({ path }) => (path.includes(broken) ? { status: 500 } : undefined));
  await mirror.sync();
  sandbox.script(({ path }) => {
    if (path.includes('/users?')) return { status: 429 };
    return path.includes(broken) ? { status: 500 } : undefined;
  });
  clock.advance(HOUR);
  expect((await mirror.sync()).stopped).toMatchObject({ code: 'GATE_PAUSED' });
  clock.advance(2 * HOUR);
  const before = sandbox.arrivals.length;
  await mirror.sync();
  const kinds = askedSince(sandbox, before).map((path) => /(\w+)\?/.exec(path)?.[1] ?? '');
  expect(kinds.slice(0, kinds.indexOf('users')).filter((kind) => kind === 'conversations')).toHaveLength(5);
});

describe('hourly syncs', () => {
  test.each<[string, RegExp, ScriptedOutcome | ((path: string) => ScriptedOutcome)]>([
    ['a list that draws 429s', /^\/v1\/inboxes\/20117\/users\?/, { status: 429 }],
    ['all users, which draw 429s', /\/users\?/, { status: 429 }],
    ['users and tags of an inbox, which ask to wait', /20117\/(users|tags)\?/, ASKS_TO_WAIT],
    ['all users and tags, which fail', /\/(users|tags)\?/, { status: 500 }],
    [
      'users, which draw 429s, and tags, which are wrong',
      /\/(users|tags)\?/,
      (path) => (path.includes('/tags?') ? WRONG : { status: 429 }),
    ],
  ])('read, at least every 3 hours, all lists but %s', async (_, paths, failure) => {
    const mirror = await quickMirror({ ...SIX_INBOXES, gate: PATIENT });
    const { clock, sandbox, writer } = mirror;
    const healthy = keysByInbox([...sandbox.world.inboxes.values()]).filter(
      (key) => !paths.test(`/v1${listPath(key)}?`),
    );
    fail(mirror, paths, failure);
    for (let hour = 1; hour <= 10; hour += 1) {
      await mirror.sync();
      if (hour >= 3)
        for (const key of healthy) {
          const last = (await writer.sweeps.lastComplete(key))?.finishedAt.getTime() ?? 0;
          expect(clock.now() - last, `${listId(key)} in hour ${hour}`).toBeLessThan(2.5 * HOUR);
        }
      clock.advance(HOUR);
    }
    sandbox.script(undefined);
    clock.advance(2 * HOUR);
    await mirror.sync();
    clock.advance(HOUR);
    await mirror.sync();
    await expectEqualToService(mirror);
  });
});

test('a sync while the gate is paused sends nothing and leaves all sweeps as they are', async () => {
  const mirror = await quickMirror({ ...SIX_INBOXES, gate: PATIENT });
  fail(mirror, /\/users\?/, { status: 429 });
  await mirror.sync();
  const sweeps = (): Promise<unknown> => mirror.database.query(`SELECT * FROM sweeps ORDER BY id`);
  const [before, sent] = [await sweeps(), mirror.sandbox.arrivals.length];
  expect((await mirror.sync()).stopped).toMatchObject({ code: 'GATE_PAUSED' });
  expect(await sweeps()).toEqual(before);
  expect(mirror.sandbox.arrivals).toHaveLength(sent);
});

describe('lists that ask to wait for an hour', () => {
  const requestsForUsers = ({ sandbox }: TestMirror, from: number): number =>
    askedSince(sandbox, from).filter((path) => path.includes('/users?')).length;

  test('are asked for once an hour, however often sync runs, and the others each time', async () => {
    const mirror = await quickMirror({ ...FOUR_INBOXES, gate: PATIENT });
    fail(mirror, /\/users\?/, ASKS_TO_WAIT);
    await mirror.sync();
    for (let minutes = 5; minutes <= 55; minutes += 5) {
      mirror.clock.advance(5 * MINUTE);
      const before = mirror.sandbox.arrivals.length;
      const report = await mirror.sync();
      expect(requestsForUsers(mirror, before)).toBe(0);
      expect(mirror.sandbox.arrivals.length - before).toBe(9);
      expect(reportOn(report, 'users', firstInbox(mirror.sandbox).id).error).toMatchObject({
        ...FAILS_ALONE,
        message: expect.stringContaining(`(for ${60 - minutes} min) with this list, so nothing was sent`),
      });
    }
    mirror.clock.advance(6 * MINUTE);
    const before = mirror.sandbox.arrivals.length;
    await mirror.sync();
    expect(requestsForUsers(mirror, before), 'the first list shows whether users can be read').toBe(1);
  });

  test('are asked for once a person resets the gate', async () => {
    const mirror = await quickMirror({ ...FOUR_INBOXES, gate: PATIENT });
    fail(mirror, /\/users\?/, ASKS_TO_WAIT);
    await mirror.sync();
    await mirror.writer.ledger.openGate(mirror.clock.now());
    const before = mirror.sandbox.arrivals.length;
    await mirror.sync();
    expect(requestsForUsers(mirror, before)).toBe(1);
  });

  test('are not counted by a reset of the gate once the hour is over', async () => {
    const mirror = await quickMirror({ ...FOUR_INBOXES, gate: PATIENT });
    fail(mirror, /\/users\?/, ASKS_TO_WAIT);
    await mirror.sync();
    mirror.clock.advance(3 * HOUR);
    expect(await mirror.writer.ledger.openGate(mirror.clock.now())).toBe(0);
  });

  test.each([-25, -1, 1, 25])(
    'are asked for after the same hour if the clock is set by %i h',
    async (hours) => {
      const mirror = await quickMirror({ ...FOUR_INBOXES, gate: PATIENT });
      fail(mirror, /\/users\?/, ASKS_TO_WAIT);
      await mirror.sync();
      mirror.clock.setWall(hours * HOUR);
      for (const [minutes, requests] of [
        [55, 0],
        [6, 1],
      ] as const) {
        mirror.clock.advance(minutes * MINUTE);
        const before = mirror.sandbox.arrivals.length;
        await mirror.sync();
        expect(requestsForUsers(mirror, before)).toBe(requests);
      }
    },
  );
});

test('a list that asks to wait is not asked for, although its single pages are being read', async () => {
  const mirror = await syncedMirror(30, { gate: PATIENT });
  const { id } = firstInbox(mirror.sandbox);
  fail(mirror, /conversations\?/, { status: 503, headers: { 'retry-after': '80000' } });
  await mirror.sync();
  await mirror.database.execute(
    `INSERT INTO sweeps (list, inbox_id, reason, state, started_at, heartbeat_at)
     VALUES ('conversations', $1, 'schedule', 'reading', $2, $2)`,
    id,
    new Date(mirror.clock.now()).toISOString(),
  );
  mirror.clock.advance(HOUR);
  const from = mirror.sandbox.arrivals.length;
  await mirror.sync();
  expect(askedSince(mirror.sandbox, from).filter((path) => path.includes('conversations'))).toEqual([]);
});

describe('a resync of which one list fails alone', () => {
  test('is resumed and reads only what is missing', async () => {
    const mirror = await syncedMirror(0, SIX_INBOXES);
    fail(mirror, /\/tags\?/, { status: 500 });
    const first = await mirror.sync({ kind: 'resync' });
    expect(first).toMatchObject({ stopped: null, isOpen: true });
    mirror.sandbox.script(undefined);
    const before = mirror.sandbox.arrivals.length;
    const second = await mirror.sync({ kind: 'resync' });
    expect(second).toMatchObject({ stopped: null, pass: { id: first.pass.id } });
    expect(askedSince(mirror.sandbox, before)).toHaveLength(6);
  });

  test('ends when a later run reads no page, so that the next resync reads all lists', async () => {
    const mirror = await syncedMirror(0, SIX_INBOXES);
    fail(mirror, /\/tags\?/, { status: 500 });
    await mirror.sync({ kind: 'resync' });
    expect(await mirror.sync({ kind: 'resync' })).toMatchObject({ stopped: null, isOpen: false });
    const before = mirror.sandbox.arrivals.length;
    expect((await mirror.sync({ kind: 'resync' })).pass.resumed).toBe(false);
    expect(askedSince(mirror.sandbox, before).filter((path) => path.includes('/users?'))).toHaveLength(6);
  });
});

test.each<[string, Partial<PassSpec>]>([
  ['an order', {}],
  ['a consent to deletions', { acceptDeletes: true }],
  ['a consent to an account', { acceptAccount: true }],
])('%s is carried out after an hour, although only a list that fails alone is left', async (what, spec) => {
  const mirror = await syncedMirror(0, SIX_INBOXES);
  const stop = new AbortController();
  let isLast = false;
  fail(mirror, new RegExp(`/${firstInbox(mirror.sandbox).id}/tags\\?`), () => {
    if (isLast) stop.abort(new MirrorError('STOPPED', 'Stopped by SIGTERM.'));
    return { status: 500 };
  });
  await mirror.sync();
  mirror.clock.advance(HOUR);
  isLast = true;
  const { clock, writer } = mirror;
  const order = what === 'an order' ? await writer.orders.place(passSpec(spec), clock.now()) : null;
  const ordered = order === null ? spec : { ...spec, orderId: order.id };
  const { pass, stopped } = await mirror.sync(ordered, stop.signal);
  expect(stopped).toMatchObject({ code: 'STOPPED' });
  mirror.sandbox.script(undefined);
  clock.advance(61 * MINUTE);
  const report = await mirror.sync(ordered);
  expect(report).toMatchObject({ stopped: null, pass: { id: pass.id, resumed: true } });
  expect(report.lists.filter((list) => !isComplete(list))).toEqual([]);
});

test.each([200, 403])(
  'a refused list and one that fails do not wait for each other where /inboxes fails too, and an inbox answers %i',
  async (status) => {
    const mirror = await syncedMirror(0, { sandbox: { conversations: [30, 30, 30] }, gate: PATIENT });
    const { id } = firstInbox(mirror.sandbox);
    mirror.sandbox.script(({ path }) => {
      if (path.includes('/inboxes?') || path.includes(`/${id}/tags?`)) return ASKS_TO_WAIT;
      if (status !== 200 && /\/inboxes\/\d+$/.test(path)) return { status };
      return path.includes('/users?') ? { status: 403 } : undefined;
    });
    const report = await mirror.sync();
    expect(report.stopped).toBeNull();
    const broken = report.lists.filter((list) => !isComplete(list)).map(({ key }) => listId(key));
    expect(broken.filter((list) => !list.startsWith('users'))).toEqual(['inboxes', `tags/${id}`]);
  },
  20_000,
);

describe('a list that fails while nothing can be asked elsewhere', () => {
  test.each<[string, ScriptedOutcome, string, number]>([
    ['has failed, although the budget is spent', { status: 500 }, 'ANSWER_FAILED', 4],
    ['keeps its own wait and shuts no gate', ASKS_TO_WAIT, 'ANSWER_FAILED', 1],
  ])('%s', async (_what, failure, code, left) => {
    const first = await syncedMirror(0, { sandbox: { conversations: [30, 30] }, gate: PATIENT });
    const { id } = firstInbox(first.sandbox);
    const sent = await count(first.database, 'requests');
    const mirror = await syncedMirror(0, {
      sandbox: { conversations: [30, 30] },
      gate: PATIENT,
      budget: { perDay: sent + left },
    });
    fail(mirror, /\/users\?/, failure);
    const { lists } = await mirror.sync({ lists: ['users'], inboxId: id });
    expect(lists).toMatchObject([{ outcome: 'paused', error: { code } }]);
    const [sweep] = await mirror.database.query<{ retry_at: Date | null }>(
      `SELECT retry_at FROM sweeps ORDER BY id DESC LIMIT 1`,
    );
    expect(sweep!.retry_at !== null).toBe(failure === ASKS_TO_WAIT);
    expect((await mirror.writer.ledger.gateState()).pausedAt).toBeNull();
  });

  test('keeps its wait although the pass is stopped meanwhile', async () => {
    const mirror = await syncedMirror(0, { sandbox: { conversations: [3, 3, 3, 3] }, gate: PATIENT });
    const [asks, refuses] = [...mirror.sandbox.world.inboxes.keys()];
    fail(mirror, /\/users\?/, (path) => {
      if (path.includes(`/${asks}/`)) return { status: 503, headers: { 'retry-after': '7200' } };
      return path.includes(`/${refuses}/`) ? { status: 429, headers: { 'retry-after': '600' } } : undefined;
    });
    const from = mirror.sandbox.arrivals.length;
    for (let runs = 0; runs < 7; runs += 1) {
      await mirror.sync();
      mirror.clock.advance(15 * MINUTE);
    }
    const asked = askedSince(mirror.sandbox, from).filter((path) => path.includes(`/${asks}/users?`));
    expect(asked).toHaveLength(1);
  });
});

describe('the list of inboxes', () => {
  test.each(['with cold', 'with warm'])(
    'that asks to wait for a day, as all users do, leaves sync the rest, %s connections',
    async (which) => {
      const mirror = await syncedMirror(0, { ...SIX_INBOXES, gate: PATIENT });
      const day: ScriptedOutcome = { status: 503, headers: { 'retry-after': '86400' } };
      fail(mirror, /\/(inboxes|users)\?/, day);
      if (which === 'with warm') await mirror.sync({ lists: ['conversations'] });
      const { stopped, lists } = await mirror.sync({ lists: ['users', 'tags', 'conversations'] });
      expect(stopped).toBeNull();
      expect(lists.filter(isComplete).map(({ key }) => key.list)).not.toContain('users');
      expect(lists.filter(isComplete)).toHaveLength(12);
    },
  );

  test('that is wrong while another list fails shows that the service is up: that list pauses', async () => {
    const mirror = await syncedMirror(0, { sandbox: { conversations: [100] }, pageSize: 10, gate: PATIENT });
    let pages = 0;
    fail(mirror, /\/inboxes\?|\/conversations\?/, (path) => {
      if (path.includes('/inboxes?')) return WRONG;
      pages += 1;
      return pages > 5 ? { status: 500 } : undefined;
    });
    const { lists } = await mirror.sync({ lists: ['conversations'] });
    expect(lists).toMatchObject([{ outcome: 'paused', error: FAILS_ALONE }]);
    expect(lists[0]?.error).toMatchObject({ message: expect.stringContaining('HTTP 500') as string });
  });
});

describe('an outage', () => {
  test('that asks to wait is asked once, however often the connection is tested', async () => {
    const mirror = await syncedMirror(0, { ...SIX_INBOXES, gate: PATIENT });
    mirror.sandbox.script(() => ASKS_TO_WAIT);
    const before = mirror.sandbox.arrivals.length;
    for (let times = 0; times < 3; times += 1)
      await expect(mirror.client.ping({ reason: 'manual' })).rejects.toMatchObject({
        code: expect.stringMatching(/SERVICE_DOWN|GATE_PAUSED/) as string,
      });
    expect(mirror.sandbox.arrivals.length - before).toBe(1);
  });

  test('that begins with a pass stops it after five requests', async () => {
    const mirror = await syncedMirror(0, SIX_INBOXES);
    mirror.sandbox.script(() => 'reset');
    const before = mirror.sandbox.arrivals.length;
    expect((await mirror.sync()).stopped).toMatchObject(IS_DOWN);
    expect(mirror.sandbox.arrivals.length - before).toBe(5);
  });

  test('that begins after the list of inboxes is read costs each list four requests, and two more in all', async () => {
    const mirror = await syncedMirror(0, SIX_INBOXES);
    const before = mirror.sandbox.arrivals.length;
    mirror.sandbox.script(() => (mirror.sandbox.arrivals.length > before + 1 ? 'reset' : undefined));
    expect((await mirror.sync()).stopped).toMatchObject(IS_DOWN);
    const first = mirror.sandbox.arrivals.length;
    expect(first - before).toBeLessThanOrEqual(1 + 4 * 4 + 2);
    mirror.clock.advance(HOUR);
    expect((await mirror.sync()).stopped).toMatchObject(IS_DOWN);
    expect(mirror.sandbox.arrivals.length - first).toBe(1);
  });
});
