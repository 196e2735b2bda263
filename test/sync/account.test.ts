import { describe, expect, test, vi } from 'vitest';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { isMirrorError, MirrorError } from '../../src/core/errors.ts';
import { isComplete } from '../../src/sync/events.ts';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { Client, Page } from '../../src/service/client.ts';
import type { Http } from '../../src/service/http.ts';
import { judgeByInbox } from '../../src/sync/account/single.ts';
import { accountCheck } from '../support/account.ts';
import { TestClock } from '../support/clock.ts';
import { memoryService, type MirrorOptions, type TestMirror, mirrorOf } from '../support/mirror.ts';
import { changesIn, count, firstIds, firstInbox, nthInbox, reportOn, tampered } from '../support/rows.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

const SMALL: Partial<SandboxOptions> = {
  idType: 'string',
  conversations: [12, 8, 5, 3],
  usersPerInbox: 2,
  tagsPerInbox: 2,
};
const TABLES = ['inboxes', 'inbox_users', 'inbox_tags', 'conversations'];

/** A mirror after its first sync of four inboxes, an hour ago. */
async function synced(options: MirrorOptions = {}): Promise<TestMirror & { path: string }> {
  const path = options.path ?? (await freshMirrorFile());
  const mirror = await quickMirror({ ...options, path, sandbox: { ...SMALL, ...options.sandbox } });
  await mirror.sync();
  mirror.clock.advance(HOUR);
  return { ...mirror, path };
}

/**
 * The same mirror at the address of another account. The process of the first one has ended.
 * The accounts share two of four inboxes, by id and address.
 */
async function behindAnother(
  { path, clock, lease }: TestMirror & { path: string },
  sandbox: Partial<SandboxOptions> = {},
): Promise<TestMirror> {
  await lease.release();
  return await mirrorOf({ path, clock, sandbox: { ...SMALL, seed: 7, ...sandbox } });
}

/** A mirror whose address moves later: then the list of inboxes lacks the first `hidden` ones. */
async function movable(hidden: number): Promise<{ mirror: TestMirror; move: () => void }> {
  let isMoved = false;
  const mirror = await synced({
    address: () => `http://${isMoved ? 'moved' : 'first'}.example/v1`,
    wrapHttp: tampered((page, path) => {
      if (isMoved && path === '/inboxes') page.results = page.results.slice(hidden);
    }),
  });
  return { mirror, move: () => (isMoved = true) };
}

/**
 * A mirror whose address leads to its account of four inboxes, until `shown` names the other one. That one
 * shares the first `shared` inboxes by id and address, with other conversations; its others have ids that the
 * mirror does not know. Either list of inboxes may be `cut` to so many rows. One account may answer at the
 * address of the other.
 */
async function exchangeable(shared: number, { pageSize }: { pageSize?: number } = {}) {
  const clock = new TestClock();
  const accounts = { own: memoryService(SMALL, clock), other: memoryService(SMALL, clock) };
  const { world } = accounts.other.sandbox;
  for (const inbox of [...world.inboxes.values()].slice(0, shared))
    for (const conversation of inbox.conversations.values()) conversation.status = 'pending';
  for (const { id } of [...world.inboxes.values()].slice(shared)) {
    world.removeInbox(id);
    const { id: added } = world.addInbox({ email: `inbox-${id}@other.example` });
    for (let nth = 0; nth < 4; nth += 1) world.addConversation(added, { status: 'pending' });
  }
  type Name = keyof typeof accounts;
  const state: { shown: Name; cut: number; answers: Name | null } = {
    shown: 'own',
    cut: Infinity,
    answers: null,
  };
  const cutHttp = (http: Http): Http =>
    tampered((page, path) => {
      if (path === '/inboxes') page.results = page.results.slice(0, state.cut);
    })(http);
  const [own, other] = [cutHttp(accounts.own.http), cutHttp(accounts.other.http)];
  const http: Http = {
    get: (path, query) => ((state.answers ?? state.shown) === 'own' ? own : other).get(path, query),
    close: () => undefined,
  };
  const mirror = await quickMirror({
    clock,
    service: { ...accounts.own, http },
    ...(pageSize !== undefined && { pageSize }),
    address: () => `http://${state.shown}.example/v1`,
  });
  const pass = async (spec: Parameters<TestMirror['sync']>[0] = {}): Promise<unknown> => {
    const { stopped } = await mirror.sync(spec);
    clock.advance(HOUR);
    return stopped;
  };
  return { mirror, accounts, state, pass };
}

/** Expects that the mirror, now of the other account, refuses the own one at the other's access. */
async function expectOwnKeptOut({
  mirror,
  state,
  pass,
}: Awaited<ReturnType<typeof exchangeable>>): Promise<void> {
  const before = await contents(mirror);
  state.answers = 'own';
  for (let nth = 0; nth < 3; nth += 1) expect(await pass()).toEqual(OTHER_ACCOUNT);
  expect(await contents(mirror)).toEqual(before);
  state.answers = null;
  expect(await pass()).toBeNull();
}

/** Gives each account 8 more inboxes, on the second page of 10 of its list. */
function addSecondPage(accounts: Readonly<Record<string, { readonly sandbox: Sandbox }>>): void {
  for (const [at, { sandbox }] of Object.values(accounts).entries())
    for (let nth = 0; nth < 8; nth += 1)
      sandbox.world.addInbox({
        id: `${9_100_000_000_000_000_000n + BigInt(100 * at + nth)}`,
        email: `${at}-${nth}@many.example`,
      });
}

/** Makes the service answer questions for single inboxes with this status. */
function answerById(sandbox: Sandbox, status: number): void {
  sandbox.script(({ path }) => (/^\/v1\/inboxes\/\d+$/.test(path) ? { status, body: '{}' } : undefined));
}

/** Every mirrored row and the number of changes. */
async function contents({ database }: TestMirror): Promise<unknown> {
  const rows = await Promise.all(
    TABLES.map((table) => database.query(`SELECT * FROM ${table} ORDER BY 1, 2`)),
  );
  return { rows, changes: await count(database, 'changes') };
}

/** Replaces the ids of the inboxes in the answers. */
function withIds(
  rename: (id: string) => string,
  on: { now: boolean },
): NonNullable<MirrorOptions['wrapHttp']> {
  return tampered((page, path) => {
    if (on.now && path === '/inboxes') for (const row of page.results) row['id'] = rename(String(row['id']));
  });
}

const OTHER_ACCOUNT = expect.objectContaining({ code: 'OTHER_ACCOUNT' }) as unknown;

describe('another account behind the mirror', () => {
  test('stops the pass after one request, before a row is written', async () => {
    const first = await synced();
    const before = await contents(first);
    const other = await behindAnother(first);
    for (let nth = 0; nth < 2; nth++) {
      const { stopped } = await other.sync();
      expect(stopped).toEqual(OTHER_ACCOUNT);
      expect(other.sandbox.arrivals).toHaveLength(nth + 1);
      other.clock.advance(HOUR);
    }
    expect(await contents(other)).toEqual(before);
  });

  test('is named in the message beside the mirror, each with its inboxes and its address', async () => {
    const first = await synced();
    const other = await behindAnother(first);
    const { stopped } = await other.sync();
    const { message } = stopped as Error;
    for (const { sandbox } of [first, other])
      expect(message).toContain(`${nthInbox(sandbox, 1).id} (${nthInbox(sandbox, 1).email})`);
    expect(message.match(/http:\/\/127\.0\.0\.1:\d+\/v1/g)).toHaveLength(2);
    expect(message).toContain('inbox-mirror sync --accept-account');
    expect(message).toContain('DATABASE_URL');
  });

  test('also stops a pass that only reads conversations of an inbox whose id both accounts have', async () => {
    const first = await synced();
    const before = await contents(first);
    const other = await behindAnother(first);
    const { id } = firstInbox(first.sandbox);
    expect(other.sandbox.world.inboxes.has(id), 'the accounts share the id').toBe(true);
    const { stopped } = await other.sync({ lists: ['conversations'], inboxId: id });
    expect(stopped).toEqual(OTHER_ACCOUNT);
    expect(other.sandbox.arrivals.map(({ path }) => path)).toEqual(['/v1/inboxes?limit=100']);
    expect(await contents(other)).toEqual(before);
  });

  test('is found although the address and the key are the same', async () => {
    const on = { now: false };
    const mirror = await synced({ wrapHttp: withIds((id) => `9${id}`, on) });
    const before = await contents(mirror);
    on.now = true;
    expect((await mirror.sync()).stopped).toEqual(OTHER_ACCOUNT);
    expect(await contents(mirror)).toEqual(before);
  });

  const onlyConversations = { lists: ['conversations'] as const };
  test.each([
    ['is empty at first, behind a new address', 0, true, {}],
    ['is empty for a pass that reads conversations, behind a new address', 0, true, onlyConversations],
    ['is empty at first, behind the same address', 0, false, {}],
    ['is empty at first, of which one is shared, behind a new address', 0, true, {}, 1],
    ['is empty at first, of which one is shared, behind the same address', 0, false, {}, 1],
    ['has only the one that is shared at first, behind a new address', 1, true, {}, 1],
  ])('is found if its list of inboxes %s', async (_how, kept, changesAddress, spec, shared = 0) => {
    let [isMoved, isCut] = [false, false];
    const mirror = await synced({
      address: () => `http://${isMoved ? 'other' : 'first'}.example/v1`,
      wrapHttp: tampered((page, path) => {
        if (isCut && path === '/inboxes') page.results = page.results.slice(0, kept);
      }),
    });
    const { sandbox, clock, database } = mirror;
    const contentsNow = async (): Promise<unknown> => [
      await database.query('SELECT id, email FROM inboxes ORDER BY id'),
      await database.query('SELECT * FROM conversations ORDER BY 1, 2'),
    ];
    const before = await contentsNow();
    for (const inbox of [...sandbox.world.inboxes.values()].slice(shared)) {
      inbox.email = `other-${inbox.id}@example.com`;
      for (const conversation of inbox.conversations.values()) conversation.status = 'pending';
    }
    [isMoved, isCut] = [changesAddress, true];
    for (let nth = 0; nth < 4; nth += 1) {
      const { stopped } = await mirror.sync(spec);
      if (changesAddress || nth > 1) expect(stopped).toEqual(OTHER_ACCOUNT);
      if (nth > 0) isCut = false;
      clock.advance(HOUR);
    }
    expect(await contentsNow()).toEqual(before);
  });

  test.each([0, 1])(
    'is refused also while its list of inboxes is empty: it shares %i of four inboxes',
    async (shared) => {
      const { mirror, state, pass } = await exchangeable(shared);
      expect(await pass()).toBeNull();
      const before = await contents(mirror);
      state.shown = 'other';
      for (const cut of [0, Infinity, 0, Infinity]) {
        state.cut = cut;
        expect(await pass()).toEqual(OTHER_ACCOUNT);
      }
      expect(await contents(mirror)).toEqual(before);
      state.shown = 'own';
      expect(await pass()).toBeNull();
    },
  );

  test.each([3, 2, 1])(
    'is refused for days if its list has the one inbox to which the mirror’s own was cut, and %i others',
    async (others) => {
      const { mirror, accounts, state, pass } = await exchangeable(1);
      const { world } = accounts.other.sandbox;
      for (const id of [...world.inboxes.keys()].slice(1 + others)) world.removeInbox(id);
      await pass();
      answerById(accounts.own.sandbox, 403);
      state.cut = 1;
      expect(await pass()).toBeNull();
      const before = await contents(mirror);
      [state.shown, state.cut] = ['other', Infinity];
      for (let nth = 0; nth < 30; nth += 1) expect(await pass()).toEqual(OTHER_ACCOUNT);
      expect(await contents(mirror)).toEqual(before);
      state.shown = 'own';
      expect(await pass()).toBeNull();
    },
  );

  test.each([
    ['its list is empty', [0]],
    ['its list is empty after it was refused', [Infinity, 0, Infinity]],
  ])('that a consent has replaced writes no row when %s', async (_when, cuts) => {
    const { mirror, state, pass } = await exchangeable(0);
    await pass();
    state.shown = 'other';
    expect(await pass({ acceptAccount: true })).toBeNull();
    const before = await contents(mirror);
    state.shown = 'own';
    for (const cut of cuts) {
      state.cut = cut;
      expect(await pass()).toEqual(OTHER_ACCOUNT);
    }
    expect(await contents(mirror)).toEqual(before);
    [state.shown, state.cut] = ['other', Infinity];
    expect(await pass()).toBeNull();
  });

  test('that a consent has replaced writes no row after a list of the other one was empty', async () => {
    const { mirror, accounts, state, pass } = await exchangeable(0);
    await pass();
    state.shown = 'other';
    expect(await pass({ acceptAccount: true })).toBeNull();
    answerById(accounts.other.sandbox, 500);
    state.cut = 0;
    await pass();
    const before = await contents(mirror);
    [state.shown, state.cut] = ['own', Infinity];
    for (let nth = 0; nth < 2; nth += 1) expect(await pass()).toEqual(OTHER_ACCOUNT);
    expect(await contents(mirror)).toEqual(before);
    state.shown = 'other';
    expect(await pass()).toBeNull();
  });

  test('that a consent has replaced writes no row at the address of the other one, once its own is refused', async () => {
    const { mirror, state, pass } = await exchangeable(0);
    await pass();
    state.shown = 'other';
    expect(await pass({ acceptAccount: true })).toBeNull();
    expect(await pass()).toBeNull();
    const before = await contents(mirror);
    state.shown = 'own';
    expect(await pass()).toEqual(OTHER_ACCOUNT);
    [state.shown, state.answers] = ['other', 'own'];
    for (let nth = 0; nth < 3; nth += 1) expect(await pass()).toEqual(OTHER_ACCOUNT);
    expect(await contents(mirror)).toEqual(before);
    state.answers = null;
    expect(await pass()).toBeNull();
  });

  test('that a consent has replaced brings no row back when it answers at the access of the other one', async () => {
    for (const inboxes of [2, 4]) {
      const story = await exchangeable(0);
      const { mirror, accounts, state, pass } = story;
      for (const { sandbox } of Object.values(accounts))
        for (const id of [...sandbox.world.inboxes.keys()].slice(inboxes)) sandbox.world.removeInbox(id);
      await pass();
      state.shown = 'other';
      expect(await pass({ acceptAccount: true })).toBeNull();
      for (let nth = 0; nth < 4; nth += 1) expect(await pass()).toBeNull();
      // The brake holds the deletions of the larger account: its inboxes stay suspects.
      const deleted = await count(mirror.database, 'inboxes WHERE deleted_at IS NOT NULL');
      expect(deleted).toBe(inboxes === 2 ? 2 : 0);
      await expectOwnKeptOut(story);
    }
  });

  test.each<[string, { shared?: number; byId?: number; set?: number }]>([
    ['it shares an inbox', { shared: 1 }],
    ['the clock was set forward since', { set: 30_000 }],
    ['the questions failed in the pass of the consent', { byId: 500 }],
  ])(
    'that a consent has replaced brings no row back either if %s',
    async (_why, { shared = 0, byId, set = 0 }) => {
      const story = await exchangeable(shared);
      const { mirror, accounts, state, pass } = story;
      await pass();
      state.shown = 'other';
      if (byId !== undefined) answerById(accounts.other.sandbox, byId);
      await pass({ acceptAccount: true });
      accounts.other.sandbox.script(undefined);
      expect(await pass()).toBeNull();
      mirror.clock.setWall(set);
      for (let nth = 0; nth < 4; nth += 1) expect(await pass()).toBeNull();
      await expectOwnKeptOut(story);
    },
  );

  test.each([404, 403, 500])(
    'that a consent has replaced brings no row back if its inboxes are asked for by id only, and others get %i',
    async (status) => {
      const { mirror, accounts, state, pass } = await exchangeable(0);
      await pass();
      state.shown = 'other';
      answerById(accounts.other.sandbox, 500);
      await pass({ acceptAccount: true });
      const before = await contents(mirror);
      const { world } = accounts.own.sandbox;
      for (const id of world.inboxes.keys()) world.addConversation(id, { status: 'pending' });
      const own = new Set(world.inboxes.keys());
      accounts.own.sandbox.script(({ path }) => {
        const [, id] = /\/inboxes\/(\d+)$/.exec(path) ?? [];
        return id === undefined || own.has(id) ? undefined : { status, body: '{}' };
      });
      state.answers = 'own';
      // The sweep of the consent has read the whole list, and asks for the inboxes that it lacks.
      for (let nth = 0; nth < 3; nth += 1) await pass();
      expect(await contents(mirror)).toEqual(before);
      state.answers = null;
      accounts.other.sandbox.script(undefined);
      expect(await pass()).toBeNull();
    },
  );

  test('that a consent has replaced is refused while only a part of the list of the other one was read', async () => {
    const { mirror, accounts, state, pass } = await exchangeable(0, { pageSize: 10 });
    addSecondPage(accounts);
    await pass();
    state.shown = 'other';
    accounts.other.sandbox.script(({ path }) => (path.includes('next_page') ? 'reset' : undefined));
    await pass({ acceptAccount: true });
    const before = await contents(mirror);
    state.answers = 'own';
    // It does not know the other one's page token, so that the list begins again.
    let isRefused = false;
    accounts.own.sandbox.script(({ path }) => {
      if (isRefused || !path.includes('next_page')) return undefined;
      isRefused = true;
      return { status: 400 };
    });
    for (let nth = 0; nth < 3; nth += 1) expect(await pass()).toEqual(OTHER_ACCOUNT);
    expect(await contents(mirror)).toEqual(before);
  });

  test('that a consent has replaced is refused although the list of the other one was empty then', async () => {
    const story = await exchangeable(0);
    const { state, pass } = story;
    await pass();
    [state.shown, state.cut] = ['other', 0];
    expect(await pass({ acceptAccount: true })).toBeNull();
    expect(await pass({ kind: 'resync', acceptDeletes: true })).toBeNull();
    state.cut = Infinity;
    expect(await pass()).toBeNull();
    await expectOwnKeptOut(story);
  });

  test('is refused at the address of the first one, although its list is empty, once its own is refused', async () => {
    const { mirror, state, pass } = await exchangeable(0);
    await pass();
    const before = await contents(mirror);
    state.shown = 'other';
    expect(await pass()).toEqual(OTHER_ACCOUNT);
    [state.shown, state.answers, state.cut] = ['own', 'other', 0];
    expect(await pass()).toEqual(OTHER_ACCOUNT);
    expect(await contents(mirror)).toEqual(before);
    [state.answers, state.cut] = [null, Infinity];
    expect(await pass()).toBeNull();
  });

  test.each(['', null])(
    'is found although most addresses of its list, with the same ids, are %j',
    async (none) => {
      const isOther = { now: false };
      const mirror = await synced({
        sandbox: { conversations: [4, 4, 4, 4, 4] },
        wrapHttp: tampered((page, path) => {
          if (!isOther.now || path !== '/inboxes') return;
          for (const [nth, row] of page.results.entries())
            row['email'] = nth < 3 ? none : `other-${nth}@example.com`;
        }),
      });
      isOther.now = true;
      const before = await contents(mirror);
      expect((await mirror.sync()).stopped).toEqual(OTHER_ACCOUNT);
      expect(await contents(mirror)).toEqual(before);
    },
  );

  test('is found behind the unchanged access if one of its addresses is another, and the rest are empty', async () => {
    const on = { now: false };
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (path !== '/inboxes' || !on.now) return;
        for (const [nth, row] of page.results.entries()) row['email'] = nth === 0 ? 'other@example.com' : '';
      }),
    });
    on.now = true;
    expect((await mirror.sync()).stopped).toEqual(OTHER_ACCOUNT);
  });

  test('is found although its list has a row without an id, if it has others under other addresses', async () => {
    const isMoved = { now: false };
    const mirror = await synced({
      sandbox: { conversations: [4, 4, 4] },
      wrapHttp: tampered((page, path) => {
        if (!isMoved.now || path !== '/inboxes') return;
        for (const row of page.results) row['email'] = `moved-${String(row['id'])}@other.example`;
        delete page.results[0]!['id'];
      }),
    });
    isMoved.now = true;
    const before = await contents(mirror);
    expect((await mirror.sync()).stopped).toEqual(OTHER_ACCOUNT);
    expect(await contents(mirror)).toEqual(before);
  });

  test('is found although its list has a row without an id', async () => {
    const { accounts, state, pass } = await exchangeable(0);
    expect(await pass()).toBeNull();
    state.answers = 'other';
    accounts.other.sandbox.faults.set('/inboxes', 'nameless');
    expect(await pass()).toEqual(OTHER_ACCOUNT);
  });

  test('is found although the inbox that it shares has no id in its list, and others get a 403 by id', async () => {
    const { accounts, state, pass } = await exchangeable(1);
    const { sandbox } = accounts.other;
    expect(await pass()).toBeNull();
    state.answers = 'other';
    sandbox.faults.set('/inboxes', 'nameless');
    const { id: shared } = firstInbox(sandbox);
    sandbox.script(({ path }) =>
      /^\/v1\/inboxes\/\d+$/.test(path) && !path.endsWith(shared) ? { status: 403, body: '{}' } : undefined,
    );
    expect(await pass()).toEqual(OTHER_ACCOUNT);
  });

  test('is found before the first of several pages of inboxes is applied', async () => {
    const on = { now: false };
    const many = { conversations: Array.from({ length: 25 }, () => 0) };
    const mirror = await synced({ wrapHttp: withIds((id) => `9${id}`, on), sandbox: many, pageSize: 10 });
    const before = await contents(mirror);
    on.now = true;
    expect((await mirror.sync()).stopped).toEqual(OTHER_ACCOUNT);
    expect(await contents(mirror)).toEqual(before);
  });

  test('is found when the list of inboxes begins again at its first page, because a token was refused', async () => {
    const on = { now: false };
    const many = { conversations: Array.from({ length: 25 }, () => 0) };
    const mirror = await synced({ wrapHttp: withIds((id) => `9${id}`, on), sandbox: many, pageSize: 20 });
    const before = await contents(mirror);
    mirror.sandbox.script(({ path }) => {
      if (on.now || !path.includes('next_page')) return undefined;
      on.now = true;
      return { status: 400, body: '{"errors": [{"message": "next_page has expired"}]}' };
    });
    expect((await mirror.sync()).stopped).toEqual(OTHER_ACCOUNT);
    expect(on.now).toBe(true);
    expect(await contents(mirror)).toEqual(before);
  });

  test('is found after four pages if the pages are large, because all of them stay in memory', async () => {
    const { writer, clock } = await synced();
    const raw = 'x'.repeat(10_000_000);
    let pages = 0;
    const listPage: Client['listPage'] = () => {
      const id = `9${(pages += 1)}`;
      const items = [{ id, raw, hash: id, columns: { email: null } }];
      const page = { items, rejects: [], next: id, requestId: pages, requests: 1 };
      return Promise.resolve(page as unknown as Page);
    };
    const check = accountCheck({ mirror: writer, clock });
    const reading = check.readInboxes({ listPage } as Client, { reason: 'schedule' }, false);
    await expect(reading).rejects.toEqual(OTHER_ACCOUNT);
    expect(pages).toBe(4);
  });

  test('stays refused while a crashed sweep waits to settle suspects of the first account', async () => {
    const first = await synced();
    await first.database.execute(
      `UPDATE sweeps SET state = 'running', next_page = NULL WHERE list = 'inboxes'`,
    );
    const other = await behindAnother(first);
    expect((await other.sync()).stopped).toEqual(OTHER_ACCOUNT);
    expect(await count(other.database, 'inboxes WHERE missing_since IS NOT NULL')).toBe(0);
  });

  test('stops a half-read list at its next page if the address changes meanwhile', async () => {
    const on = { now: false };
    const mirror = await synced({
      wrapHttp: withIds((id) => `9${id}`, on),
      sandbox: { conversations: [50, 5] },
      pageSize: 10,
      address: () => (on.now ? 'http://other.example/v1' : 'http://first.example/v1'),
    });
    const before = mirror.sandbox.arrivals.length;
    mirror.sandbox.script(({ path }) => {
      if (path.includes('/conversations')) on.now = true;
      return undefined;
    });
    const inboxId = firstInbox(mirror.sandbox).id;
    expect((await mirror.sync({ lists: ['conversations'], inboxId })).stopped).toEqual(OTHER_ACCOUNT);
    expect(mirror.sandbox.arrivals.length - before).toBe(2);
  });

  const WAITING = [
    { what: 'a page', path: 'conversations' },
    { what: 'a list of users', path: 'users' },
    { what: 'a question for a suspect', path: 'conversations/ID' },
  ];
  test.each(
    ['is still wrong', 'is corrected'].flatMap((key) => WAITING.map((waiting) => ({ ...waiting, key }))),
  )('writes nothing if the key changes while $what waits, and $key afterwards', async ({ path, key }) => {
    const way: { wrap: NonNullable<MirrorOptions['wrapHttp']>; address: string } = {
      wrap: (http) => http,
      address: 'http://first.example/v1',
    };
    const mirror = await synced({
      address: () => way.address,
      wrapHttp: (http) => ({ close: http.close, get: (...call) => way.wrap(http).get(...call) }),
    });
    const { clock, sandbox } = mirror;
    const other = memoryService({ ...SMALL, seed: 7 }, clock);
    const { id, conversations } = firstInbox(sandbox);
    expect(other.sandbox.world.inboxes.has(id), 'the accounts share the id').toBe(true);
    const [suspect = ''] = firstIds(conversations, 1, 5);
    const awaited = `/inboxes/${id}/${path.replace('ID', suspect)}`;
    const hiding = tampered((page) => (page.results = page.results.filter((row) => row['id'] !== suspect)));
    let hasChanged = false;
    way.wrap = (http) => ({
      close: http.close,
      async get(asked, query) {
        const isFirst = !hasChanged && asked === awaited;
        if (isFirst) way.address = 'http://other.example/v1';
        else if (hasChanged && key === 'is corrected') way.address = 'http://first.example/v1';
        hasChanged ||= isFirst;
        return await hiding(way.address.includes('other') ? other.http : http).get(asked, query);
      },
    });
    // Otherwise the suspicion would be a difference.
    const suspicion = () =>
      mirror.database.execute(`UPDATE conversations SET missing_since = NULL WHERE id = $1`, suspect);
    const before = await contents(mirror);
    const lists = [path.startsWith('users') ? 'users' : 'conversations'] as const;
    const { stopped } = await mirror.sync({ lists, inboxId: id });
    expect(stopped).toEqual(key === 'is corrected' ? null : OTHER_ACCOUNT);
    await suspicion();
    expect(await contents(mirror)).toEqual(before);
  });

  test('is found by a list that joins the test of a key which has changed since', async () => {
    const way = { address: 'http://first.example/v1' };
    const mirror = await synced({ address: () => way.address });
    const account = accountCheck({ mirror: mirror.writer, clock: mirror.clock }, () => way.address);
    const answer = Promise.withResolvers<undefined>();
    let asked = 0;
    const listPage: Client['listPage'] = async (...call) => {
      asked += 1;
      const isOther = way.address.includes('other');
      const page = await mirror.client.listPage(...call);
      await answer.promise;
      return isOther ? { ...page, items: page.items.map((item) => ({ ...item, id: `9${item.id}` })) } : page;
    };
    const prove = () => account.prove({ ...mirror.client, listPage }, { reason: 'schedule' });
    way.address = 'http://renewed.example/v1';
    const proofs = [prove()];
    await expect.poll(() => asked).toBe(1);
    way.address = 'http://other.example/v1';
    proofs.push(prove());
    answer.resolve(undefined);
    expect(await Promise.allSettled(proofs)).toEqual(
      proofs.map(() => ({ status: 'rejected', reason: OTHER_ACCOUNT })),
    );
    expect((await mirror.writer.account()).address).toBe('http://first.example/v1');
  });

  test('is found by a list that joins the test of a key which changes while its result is written', async () => {
    const way = { address: 'http://first.example/v1' };
    const { writer, client, clock } = await synced({ address: () => way.address });
    const isOther = (): boolean => way.address.includes('other');
    const listPage: Client['listPage'] = async (...call) => {
      const page = await client.listPage(...call);
      return isOther()
        ? { ...page, items: page.items.map((item) => ({ ...item, id: `9${item.id}` })) }
        : page;
    };
    const joined: Promise<void>[] = [];
    const mirror = Object.assign(Object.create(writer) as typeof writer, {
      proveAccount: async (access: Parameters<typeof writer.proveAccount>[0]) => {
        await writer.proveAccount(access);
        way.address = 'http://other.example/v1';
        joined.push(prove());
        // The list has looked at the mirror by then, and waits for the test.
        for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
      },
    });
    const account = accountCheck({ mirror, clock }, () => way.address);
    const prove = () => account.prove({ ...client, listPage }, { reason: 'schedule' });
    way.address = 'http://renewed.example/v1';
    await Promise.allSettled([prove()]);
    expect(joined).toHaveLength(1);
    await expect(joined[0]).rejects.toEqual(OTHER_ACCOUNT);
  });

  test('is not accepted if the access changes while the account of the consent is read', async () => {
    const way: { address: string; changes: boolean } = { address: 'http://first.example/v1', changes: false };
    const other: { http: Http | null } = { http: null };
    const mirror = await synced({
      address: () => way.address,
      wrapHttp: (http) => ({
        close: http.close,
        async get(asked, query) {
          if (way.changes && asked === '/inboxes') way.address = 'http://other.example/v1';
          return await (way.address.includes('other') ? other.http! : http).get(asked, query);
        },
      }),
    });
    other.http = memoryService({ ...SMALL, seed: 7 }, mirror.clock).http;
    way.changes = true;
    const before = await contents(mirror);
    expect((await mirror.sync({ acceptAccount: true })).stopped).toEqual(OTHER_ACCOUNT);
    expect(await contents(mirror)).toEqual(before);
  });

  test('is accepted by a new pass if an interrupted one has accepted another account', async () => {
    const way: { address: string; http: Http | null } = { address: 'http://first.example/v1', http: null };
    const mirror = await synced({
      address: () => way.address,
      wrapHttp: (http) => ({ close: http.close, get: (...call) => (way.http ?? http).get(...call) }),
    });
    const [wrong, right] = [7, 9].map((seed) => memoryService({ ...SMALL, seed }, mirror.clock));
    way.address = 'http://wrong.example/v1';
    way.http = wrong!.http;
    let isDown = false;
    wrong!.sandbox.script(({ path }) => {
      isDown ||= path.includes('/users');
      return isDown ? 'reset' : undefined;
    });
    expect((await mirror.sync({ acceptAccount: true })).stopped).not.toBeNull();
    way.address = 'http://right.example/v1';
    way.http = right!.http;
    mirror.clock.advance(HOUR);
    const report = await mirror.sync({ acceptAccount: true });
    expect(report.stopped).toBeNull();
    expect(reportOn(report, 'inboxes')).toMatchObject({ outcome: 'complete' });
    expect((await mirror.sync()).stopped).toBeNull();
  });

  test('is accepted once with `acceptAccount`; later passes need no consent', async () => {
    const first = await synced();
    const other = await behindAnother(first, { conversations: [6, 6, 6, 6] });
    await other.sync();
    const { stopped } = await other.sync({ lists: ['conversations'], acceptAccount: true });
    expect(stopped).toBeNull();
    expect((await other.sync()).stopped).toBeNull();
    const { id } = nthInbox(other.sandbox, 1);
    expect(await count(other.database, `conversations WHERE inbox_id = $1 AND deleted_at IS NULL`, id)).toBe(
      6,
    );
    other.clock.advance(HOUR);
    await other.sync();
    other.clock.advance(HOUR);
    await other.sync({ kind: 'resync', acceptDeletes: true });
    await expectEqualToService(other);
  });

  test.each([0, 2])(
    'is not accepted because the mirror had it before another one replaced it, %i passes ago',
    async (passes) => {
      const on = { now: true };
      const address = (): string => `http://${on.now ? 'first' : 'second'}.example/v1`;
      const mirror = await synced({ address, wrapHttp: withIds((id) => `9${id}`, on) });
      on.now = false;
      expect((await mirror.sync({ acceptAccount: true })).stopped).toBeNull();
      for (let nth = 0; nth < passes; nth++) {
        mirror.clock.advance(HOUR);
        await mirror.sync({ lists: ['inboxes'] });
        await mirror.sync({ kind: 'resync', lists: ['inboxes'], acceptDeletes: true });
      }
      const deleted = 'inboxes WHERE deleted_at IS NOT NULL';
      expect(await count(mirror.database, deleted)).toBe(passes === 0 ? 0 : 4);
      const before = await contents(mirror);
      on.now = true;
      const { stopped } = await mirror.sync();
      expect(stopped).toEqual(OTHER_ACCOUNT);
      expect((stopped as Error).message).toContain('If it shall replace the content of this mirror');
      expect(await contents(mirror)).toEqual(before);
    },
  );

  test.each(['before its inboxes were read', 'after that'])(
    'is accepted once more if its consent was interrupted %s, and the first account came back',
    async (when) => {
      const on = { now: true };
      const address = (): string => `http://${on.now ? 'first' : 'second'}.example/v1`;
      const mirror = await synced({ address, wrapHttp: withIds((id) => `9${id}`, on) });
      const isEarly = when === 'before its inboxes were read';
      const stop = new AbortController();
      mirror.sandbox.script(({ path }) => {
        if (path.includes('/tags')) stop.abort(new MirrorError('STOPPED', 'stopped by a test'));
        return isEarly ? 'reset' : undefined;
      });
      on.now = false;
      expect((await mirror.sync({ acceptAccount: true }, stop.signal)).stopped).not.toBeNull();
      mirror.sandbox.script(undefined);
      mirror.clock.advance(HOUR);
      on.now = true;
      expect((await mirror.sync({ acceptAccount: !isEarly })).stopped).toBeNull();
      mirror.clock.advance(HOUR);
      on.now = false;

      const report = await mirror.sync({ acceptAccount: true });

      expect(report.stopped).toBeNull();
      const outcomes = report.lists.map(({ outcome }) => outcome);
      // The lists of the first account's inboxes are skipped.
      expect(new Set(outcomes)).toEqual(new Set(['complete', 'skipped']));
      // After another consent, that of a command that is run again is a new one.
      const ids = await mirror.database.query<{ id: number }>(
        'SELECT id FROM sync_requests WHERE accept_account ORDER BY id',
      );
      expect(report.pass.id).toBe(ids.at(-1)!.id);
      expect(ids).toHaveLength(isEarly ? 1 : 3);
      expect((await mirror.sync()).stopped).toBeNull();
    },
  );
});

describe('the same account', () => {
  test('is known behind a moved address, for one request, even if only tags are read', async () => {
    const first = await synced();
    const moved = await behindAnother(first, { seed: 1 });
    const tags = { lists: ['tags'], inboxId: firstInbox(moved.sandbox).id } as const;
    expect((await moved.sync(tags)).stopped).toBeNull();
    expect(moved.sandbox.arrivals).toHaveLength(2);
    expect((await moved.sync(tags)).stopped).toBeNull();
    expect(moved.sandbox.arrivals).toHaveLength(3);
  });

  test('may rename inboxes, change one address, and add or remove inboxes one by one', async () => {
    const mirror = await synced();
    const { world } = mirror.sandbox;
    for (const inbox of world.inboxes.values()) inbox.display_name += ' (renamed)';
    firstInbox(mirror.sandbox).email = 'new-address@example.com';
    expect((await mirror.sync()).stopped).toBeNull();
    for (let nth = 0; nth < 4; nth++) {
      const oldest = firstInbox(mirror.sandbox);
      world.addInbox();
      world.removeInbox(oldest.id);
      for (let passes = 0; passes < 2; passes++) {
        mirror.clock.advance(HOUR);
        expect((await mirror.sync({ lists: ['inboxes'] })).stopped).toBeNull();
      }
      mirror.clock.advance(HOUR);
      expect((await mirror.sync({ kind: 'resync', acceptDeletes: true })).stopped).toBeNull();
    }
    expect(await count(mirror.database, 'inboxes WHERE deleted_at IS NULL')).toBe(4);
  });

  test('may archive most of its inboxes, and make as many new ones while these are suspects', async () => {
    const mirror = await synced();
    const { sandbox, clock } = mirror;
    const archived = [...sandbox.world.inboxes.keys()].slice(0, 3);
    for (const id of archived) sandbox.world.removeInbox(id);
    sandbox.script(({ path }) =>
      archived.some((id) => path.includes(`/inboxes/${id}`)) ? { status: 403, body: '{}' } : undefined,
    );
    expect((await mirror.sync()).stopped).toBeNull();
    clock.advance(HOUR);
    for (let nth = 0; nth < 3; nth += 1) sandbox.world.addInbox();
    expect((await mirror.sync()).stopped).toBeNull();
    expect(await count(mirror.database, 'inboxes WHERE deleted_at IS NULL')).toBe(7);
  });

  test('may archive most of its inboxes and make a new one while a wrong address is tried', async () => {
    const { accounts, state, pass } = await exchangeable(0);
    const { sandbox } = accounts.own;
    await pass();
    const archived = [...sandbox.world.inboxes.keys()].slice(0, 3);
    for (const id of archived) sandbox.world.removeInbox(id);
    sandbox.script(({ path }) =>
      archived.some((id) => path.includes(`/inboxes/${id}`)) ? { status: 403, body: '{}' } : undefined,
    );
    expect(await pass()).toBeNull();
    state.shown = 'other';
    expect(await pass()).toEqual(OTHER_ACCOUNT);
    state.shown = 'own';
    sandbox.world.addInbox();
    expect(await pass()).toBeNull();
    state.shown = 'other';
    expect(await pass()).toEqual(OTHER_ACCOUNT);
  });

  test('may make new inboxes while its list leaves out archived ones that the service returns', async () => {
    const archived = new Set<string>();
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (path === '/inboxes') page.results = page.results.filter(({ id }) => !archived.has(String(id)));
      }),
    });
    const { sandbox, clock } = mirror;
    for (const id of [...sandbox.world.inboxes.keys()].slice(0, 3)) archived.add(id);
    expect((await mirror.sync()).stopped).toBeNull();
    clock.advance(HOUR);
    for (let nth = 0; nth < 3; nth += 1) sandbox.world.addInbox();
    expect((await mirror.sync()).stopped).toBeNull();
  });

  test('may make a new inbox while its only other one is listed without an id', async () => {
    const mirror = await synced();
    const { sandbox, clock, database } = mirror;
    for (const id of [...sandbox.world.inboxes.keys()].slice(1)) sandbox.world.removeInbox(id);
    expect((await mirror.sync()).stopped).toBeNull();
    clock.advance(HOUR);
    sandbox.world.addInbox();
    sandbox.faults.set('/inboxes', 'nameless');
    expect((await mirror.sync()).stopped).toBeNull();
    expect(await count(database, 'inboxes WHERE missing_since IS NULL')).toBe(2);
  });

  test('may change the address of an inbox that its list leaves out', async () => {
    let hidden = '';
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (path === '/inboxes') page.results = page.results.filter(({ id }) => String(id) !== hidden);
      }),
    });
    const { sandbox, clock, database } = mirror;
    const inbox = firstInbox(sandbox);
    [hidden, inbox.email] = [inbox.id, 'new-address@example.com'];
    for (let nth = 0; nth < 3; nth += 1) {
      expect((await mirror.sync()).stopped).toBeNull();
      clock.advance(HOUR);
    }
    expect(await count(database, `inboxes WHERE email = '${inbox.email}' AND missing_since IS NULL`)).toBe(1);
    const read = sandbox.arrivals.filter(({ path }) => path.includes(`/${inbox.id}/conversations?`));
    expect(read.length, 'its conversations are read on').toBeGreaterThan(2);
  });

  test('is accepted by a consent also while its list of inboxes is empty', async () => {
    const { mirror, move } = await movable(Infinity);
    for (const inbox of mirror.sandbox.world.inboxes.values()) inbox.email = `new-${inbox.email}`;
    move();
    expect((await mirror.sync()).stopped).toEqual(OTHER_ACCOUNT);
    expect((await mirror.sync({ acceptAccount: true })).stopped).toBeNull();
    mirror.clock.advance(HOUR);
    const { stopped, lists } = await mirror.sync();
    expect(stopped).toBeNull();
    expect(
      lists.filter(({ key, outcome }) => key.list === 'conversations' && outcome === 'complete'),
    ).toHaveLength(4);
  });

  test('is known again once its list shows some of its inboxes, after it was empty', async () => {
    const { mirror, move } = await movable(3);
    const { sandbox } = mirror;
    let isEmpty = true;
    sandbox.script(({ path }) => {
      if (/^\/v1\/inboxes\/\d+$/.test(path)) return { status: 404, body: '{}' };
      const body = '{"results":[],"pagination":{"next_page":null}}';
      return isEmpty && path.startsWith('/v1/inboxes?') ? { status: 200, body } : undefined;
    });
    move();
    expect((await mirror.sync()).stopped).toEqual(OTHER_ACCOUNT);
    isEmpty = false;
    expect((await mirror.sync()).stopped).toBeNull();
  });

  test('may change one address, while its list behind a new address is empty', async () => {
    const { mirror, move } = await movable(Infinity);
    firstInbox(mirror.sandbox).email = 'new-address@example.com';
    move();
    expect((await mirror.sync()).stopped).toBeNull();
  });

  test('is known behind a new address whose list has half of its inboxes, while the others fail', async () => {
    const { mirror, move } = await movable(2);
    const { sandbox } = mirror;
    const [one, two] = [...sandbox.world.inboxes.keys()];
    sandbox.script(({ path }) =>
      path.endsWith(`/${one}`) || path.endsWith(`/${two}`) ? { status: 400, body: '{}' } : undefined,
    );
    move();
    const { stopped, lists } = await mirror.sync();
    expect(stopped).toBeNull();
    const read = lists.filter(({ key, outcome }) => key.list === 'conversations' && outcome === 'complete');
    expect(read).toHaveLength(2);
  });

  test('is known behind a new address whose list has some of its inboxes, while the others draw 429s', async () => {
    const { mirror, move } = await movable(3);
    move();
    const before = mirror.sandbox.arrivals.length;
    answerById(mirror.sandbox, 429);
    await mirror.sync();
    const refused = mirror.sandbox.arrivals.slice(before).filter(({ status }) => status === 429);
    mirror.clock.advance(HOUR);
    const { stopped, lists } = await mirror.sync();
    expect(stopped).toBeNull();
    const complete = lists.filter(({ outcome }) => outcome === 'complete').map(({ key }) => key.list);
    expect(complete).toEqual(expect.arrayContaining(['users', 'tags', 'conversations']));
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(3);
  });

  test('is not taken for another one by the one answer that came before a 429', async () => {
    const { mirror, move } = await movable(3);
    const { sandbox } = mirror;
    move();
    firstInbox(sandbox).email = 'new-address@example.com';
    sandbox.script(({ path }) =>
      path === `/v1/inboxes/${nthInbox(sandbox, 1).id}` ? { status: 429, body: '' } : undefined,
    );
    const { stopped } = await mirror.sync();
    expect(isMirrorError(stopped, 'OTHER_ACCOUNT')).toBe(false);
  });

  test('may lose all its inboxes, and have one of them back', async () => {
    const mirror = await synced();
    const { world } = mirror.sandbox;
    const [back, ...others] = [...world.inboxes.keys()];
    for (const id of [back!, ...others]) world.removeInbox(id);
    expect(reportOn(await mirror.sync(), 'inboxes')).toMatchObject({ outcome: 'complete', suspects: 4 });
    world.restoreInbox(back!);
    expect((await mirror.sync()).stopped).toBeNull();
  });

  test.each(['without', 'after'])(
    'may list now these inboxes and now the others, %s a consent',
    async (when) => {
      const mirror = await synced({ sandbox: { conversations: [3, 3] } });
      if (when === 'after') expect((await mirror.sync({ acceptAccount: true })).stopped).toBeNull();
      mirror.clock.advance(HOUR);
      const { world } = mirror.sandbox;
      const [one, other] = [...world.inboxes.keys()];
      world.removeInbox(one!);
      expect((await mirror.sync()).stopped).toBeNull();
      world.removeInbox(other!);
      world.restoreInbox(one!);
      expect((await mirror.sync()).stopped).toBeNull();
    },
  );

  test.each([0, -2 * HOUR])(
    'may list again an inbox that a consent has given up, after the clock was set by %i ms',
    async (set) => {
      const mirror = await synced();
      const { world } = mirror.sandbox;
      const [one, ...others] = [...world.inboxes.keys()];
      world.removeInbox(one!);
      expect((await mirror.sync({ acceptAccount: true })).stopped).toBeNull();
      mirror.clock.advance(MINUTE);
      mirror.clock.setWall(set);
      world.restoreInbox(one!);
      expect((await mirror.sync()).stopped).toBeNull();
      mirror.clock.advance(HOUR);
      world.removeInbox(one!);
      expect((await mirror.sync()).stopped).toBeNull();
      for (const id of others) world.removeInbox(id);
      world.restoreInbox(one!);
      expect((await mirror.sync()).stopped).toBeNull();
    },
  );

  test('may take up an inbox that a consent has given up, while half of the others are archived', async () => {
    const mirror = await synced({ sandbox: { conversations: [3, 3, 3, 3, 3] } });
    const { world } = mirror.sandbox;
    const [one, ...others] = [...world.inboxes.keys()];
    world.removeInbox(one!);
    expect((await mirror.sync({ acceptAccount: true })).stopped).toBeNull();
    mirror.clock.advance(HOUR);
    world.restoreInbox(one!);
    for (const id of others.slice(0, 2)) world.removeInbox(id);
    expect((await mirror.sync()).stopped).toBeNull();
  });

  test.each([200, 403, 404, 429, 500])(
    'may read an inbox that a consent has given up, if the service returns it by its id, and another one with %i',
    async (status) => {
      const { mirror, move } = await movable(1);
      const [inbox, next] = [firstInbox(mirror.sandbox), nthInbox(mirror.sandbox, 1)];
      move();
      mirror.sandbox.script(({ path }) =>
        status !== 200 && path.endsWith(`/inboxes/${next.id}`) ? { status, body: '{}' } : undefined,
      );
      await mirror.sync({ acceptAccount: true });
      for (let nth = 0; nth < 3; nth += 1) {
        mirror.clock.advance(HOUR);
        await mirror.sync();
      }
      const isRead = `inboxes WHERE id = '${inbox.id}' AND missing_since IS NULL AND deleted_at IS NULL`;
      expect(await count(mirror.database, isRead)).toBe(1);
    },
  );

  test('may show its inboxes one after the other, after a consent to an empty list', async () => {
    const { mirror, accounts, state, pass } = await exchangeable(4);
    await pass();
    [state.shown, state.cut] = ['other', 0];
    answerById(accounts.other.sandbox, 404);
    expect(await pass({ acceptAccount: true })).toBeNull();
    for (const cut of [1, 2, 4]) {
      state.cut = cut;
      expect(await pass()).toBeNull();
    }
    expect(await count(mirror.database, 'inboxes WHERE missing_since IS NULL')).toBe(4);
  });

  test('is read to the end of its inboxes, although each run gets one page only', async () => {
    const many = { ...SMALL, conversations: Array.from({ length: 25 }, () => 0) };
    const mirror = await quickMirror({ sandbox: many, pageSize: 10 });
    for (let run = 0; run < 3; run += 1) {
      let pages = 0;
      mirror.sandbox.script(({ path }) =>
        !path.startsWith('/v1/inboxes?') || (pages += 1) > 1 ? 'reset' : undefined,
      );
      await mirror.sync({ lists: ['inboxes'] });
      mirror.clock.advance(HOUR);
    }
    expect(await count(mirror.database, 'inboxes')).toBe(25);
  });

  test('is known from the first of several pages, which costs no further request', async () => {
    const many = { conversations: Array.from({ length: 25 }, () => 0) };
    const mirror = await synced({ sandbox: many, pageSize: 10 });
    const before = mirror.sandbox.arrivals.length;
    expect(reportOn(await mirror.sync({ lists: ['inboxes'] }), 'inboxes').items).toBe(25);
    expect(mirror.sandbox.arrivals.length - before).toBe(3);
    expect(await changesIn(mirror.database)).toEqual([]);
  });

  test.each(['', ' '])(
    'is known by the ids while all its addresses are %j, and with addresses later',
    async (none) => {
      const without: { now: boolean } = { now: true };
      const mirror = await synced({
        wrapHttp: tampered((page, path) => {
          if (without.now && path === '/inboxes') for (const row of page.results) row['email'] = none;
        }),
      });
      expect((await mirror.sync()).stopped).toBeNull();
      without.now = false;
      expect((await mirror.sync()).stopped).toBeNull();
      without.now = true;
      expect((await mirror.sync()).stopped).toBeNull();
    },
  );

  test('may change the only address that it has', async () => {
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (path === '/inboxes') for (const row of page.results.slice(1)) row['email'] = null;
      }),
    });
    firstInbox(mirror.sandbox).email = 'other@example.com';
    mirror.sandbox.world.addInbox();
    expect((await mirror.sync()).stopped).toBeNull();
  });

  test('may archive half of its inboxes and make a new one that is listed twice', async () => {
    const mirror = await synced({
      wrapHttp: tampered((page, path) => {
        if (path === '/inboxes' && page.results.length === 3) page.results.push({ ...page.results[2] });
      }),
    });
    const { sandbox } = mirror;
    for (const id of [...sandbox.world.inboxes.keys()].slice(0, 2)) sandbox.world.removeInbox(id);
    sandbox.world.addInbox();
    expect((await mirror.sync()).stopped).toBeNull();
  });

  test('reads its other lists after one wrong answer behind a renewed access', async () => {
    const { mirror, move } = await movable(0);
    move();
    let answers = 0;
    mirror.sandbox.script(({ path }) =>
      /inboxes\?/.test(path) && (answers += 1) === 1 ? { status: 404, body: '{}' } : undefined,
    );
    const { lists } = await mirror.sync({ lists: ['conversations', 'users'] });
    expect(lists.filter(isComplete).length).toBeGreaterThanOrEqual(4);
  });

  test('costs a few requests behind a wrong address at which the list of inboxes is unknown', async () => {
    const { mirror, move } = await movable(0);
    const { sandbox, clock } = mirror;
    move();
    sandbox.script(() => ({ status: 404, body: '{}' }));
    const before = sandbox.arrivals.length;
    const { lists } = await mirror.sync();
    expect(lists.filter(({ outcome }) => outcome === 'failed')).toHaveLength(13);
    expect(sandbox.arrivals.length - before).toBeLessThanOrEqual(4);
    sandbox.script(undefined);
    clock.advance(HOUR);
    expect((await mirror.sync()).lists.every(isComplete)).toBe(true);
  });

  test('is read although wrong addresses came amid the tests of its new one', async () => {
    const way = { address: 'http://first.example/v1' };
    const { writer, client, clock } = await synced({ address: () => way.address });
    const account = accountCheck({ mirror: writer, clock }, () => way.address);
    let wrong = 2;
    const listPage: Client['listPage'] = async (...call) => {
      if (way.address.includes('wrong')) throw new MirrorError('REQUEST_REFUSED', 'no such path');
      wrong -= 1;
      if (wrong >= 0) way.address = 'http://wrong.example/v1';
      return await client.listPage(...call);
    };
    const prove = async (): Promise<void> => {
      way.address = 'http://moved.example/v1';
      await account.prove({ ...client, listPage }, { reason: 'schedule' });
    };
    for (const _ of [1, 2]) await expect(prove()).rejects.toMatchObject({ code: 'REQUEST_REFUSED' });
    await expect(prove()).resolves.toBeUndefined();
  });

  test('is not recognised if its only inbox, or most of them, have other addresses', async () => {
    const mirror = await synced();
    for (const nth of [0, 1]) nthInbox(mirror.sandbox, nth).email = `other-${nth}@example.com`;
    expect((await mirror.sync()).stopped).toEqual(OTHER_ACCOUNT);
    const single = await synced({ sandbox: { conversations: [3] } });
    firstInbox(single.sandbox).email = 'other@example.com';
    expect((await single.sync()).stopped).toEqual(OTHER_ACCOUNT);
  });
});

test('an account is unknown while the service does not answer or a person stops; a bug is not taken for that', async () => {
  const mirror = await synced();
  const account = accountCheck({ mirror: mirror.writer, clock: mirror.clock });
  const judged = (failure: Error, signal?: AbortSignal) => {
    const getInbox = vi.fn<Client['getInbox']>().mockRejectedValue(failure);
    const listPage: Client['listPage'] = (...call) => mirror.client.listPage(...call);
    const client = { ...mirror.client, listPage, getInbox };
    return judgeByInbox({ account, client }, { reason: 'schedule', signal });
  };
  expect(await judged(new MirrorError('ANSWER_FAILED', 'HTTP 500'))).toBe('unknown');
  const reason = new Error('Ctrl-C');
  expect(await judged(reason, AbortSignal.abort(reason))).toBe('unknown');
  await expect(judged(new TypeError('x is undefined'))).rejects.toThrow('x is undefined');
});
