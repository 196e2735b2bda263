import { getEventListeners } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openMirror, type OpenedMirror, Prisma } from '../../src/library/library.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { startDaemon } from '../support/daemon-process.ts';
import { newPlace, temporaryDatabase, temporaryFolder } from '../support/mirror.ts';
import { SECRET, type TestProgram, testProgram } from '../support/program.ts';
import { ON_SQLITE, onServer, urlOf } from '../support/provider.ts';
import { backUp, restore } from '../support/restore.ts';
import { firstIds, firstInbox } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';

interface Account {
  readonly program: TestProgram;
  readonly place: string;
  readonly mirror: OpenedMirror;
}

/** A sandbox with a small account, and the library on a mirror of it that is still empty. */
async function smallAccount(
  env: Record<string, string> = {},
  more: Partial<SandboxOptions> = {},
): Promise<Account> {
  const place = await freshMirrorFile();
  const few = { conversations: [30, 10], usersPerInbox: 3, tagsPerInbox: 3 };
  const size = { ...few, idType: 'string' as const, ...more };
  const program = await testProgram(size, { DATABASE_URL: urlOf(place), ...env });
  const mirror = await openMirror({ env: program.env, cwd: program.folder });
  onTestFinished(() => mirror.close());
  return { program, place, mirror };
}

describe('the typed client', () => {
  test('follows each relation to the rows that SQL finds', async () => {
    const { mirror, place } = await smallAccount();
    await mirror.sync();
    const { conversations, tagged, users, tags } = await countsOf(place);

    const inboxes = await mirror.prisma.inboxes.findMany({
      include: { users: true, tags: true, conversations: { include: { tags: { include: { tag: true } } } } },
    });

    const all = inboxes.flatMap((inbox) => inbox.conversations);
    expect(all).toHaveLength(conversations);
    expect(inboxes.flatMap((inbox) => inbox.users)).toHaveLength(users);
    expect(inboxes.flatMap((inbox) => inbox.tags)).toHaveLength(tags);
    const links = all.flatMap((conversation) => conversation.tags);
    expect(links).toHaveLength(tagged);
    for (const { tag, ...link } of links)
      expect(tag).toMatchObject({ inbox_id: link.inbox_id, id: link.tag_id });
    const assigned = await mirror.prisma.conversations.findMany({
      where: { assignee_id: { not: null } },
      include: { assignee: { include: { conversations: true } }, inbox: true },
    });
    for (const { assignee, assignee_id: id, inbox_id: inboxId, inbox } of assigned) {
      expect(assignee).toMatchObject({ id, inbox_id: inboxId });
      expect(inbox.id).toBe(inboxId);
    }
  });

  test('gives null for an assignee and a tag that the mirror has not seen', async () => {
    const { mirror, program } = await smallAccount();
    const { world } = program.sandbox;
    const inbox = firstInbox(program.sandbox);
    const [id = ''] = firstIds(inbox.conversations, 1);
    Object.assign(world.conversation(inbox.id, id), {
      assignee: { assignee_type: 'user', assignee_id: '77' },
      tag_ids: ['88'],
    });
    await mirror.sync();

    const found = await mirror.prisma.conversations.findUniqueOrThrow({
      where: { inbox_id_id: { inbox_id: inbox.id, id } },
      include: { assignee: true, tags: { include: { tag: true } } },
    });

    expect(found).toMatchObject({ assignee_id: '77', assignee: null, tags: [{ tag_id: '88', tag: null }] });
  });

  test('gives each item its own changes, even where a user, a tag and a conversation share an id', async () => {
    const { mirror, program } = await smallAccount();
    const { world } = program.sandbox;
    const inbox = firstInbox(program.sandbox);
    world.addUser(inbox.id, { id: '5' });
    world.addTag(inbox.id, { id: '5' });
    world.addConversation(inbox.id, { id: '5', status: 'open' });
    await mirror.sync();
    world.setStatus(inbox.id, '5', 'pending');
    Object.assign(inbox.users.get('5') ?? {}, { last_name: 'New' });
    Object.assign(inbox.tags.get('5') ?? {}, { name: 'Newer' });
    await mirror.sync();

    const where = { inbox_id_id: { inbox_id: inbox.id, id: '5' } };
    const include = { changes: true };
    const [user, tag, conversation] = await Promise.all([
      mirror.prisma.inbox_users.findUniqueOrThrow({ where, include }),
      mirror.prisma.inbox_tags.findUniqueOrThrow({ where, include }),
      mirror.prisma.conversations.findUniqueOrThrow({ where, include }),
    ]);

    expect(user.changes).toMatchObject([{ field: 'last_name', new_value: 'New' }]);
    expect(tag.changes).toMatchObject([{ field: 'name', new_value: 'Newer' }]);
    expect(conversation.changes).toMatchObject([
      { field: 'status', old_value: 'open', new_value: 'pending' },
    ]);
  });

  test('includes the relations of thousands of rows', async () => {
    const { mirror } = await smallAccount({}, { conversations: [2500], tagsPerInbox: 3 });
    await mirror.sync();

    const rows = await mirror.prisma.conversations.findMany({
      include: { tags: { include: { tag: true } }, assignee: true, inbox: true },
    });

    expect(rows).toHaveLength(2500);
    expect(rows.flatMap(({ tags }) => tags).every(({ tag }) => tag !== null)).toBe(true);
  });

  test('keeps every digit of `raw`: a number that JavaScript would round is a text', async () => {
    const { mirror } = await smallAccount({}, { idType: 'number' });
    await mirror.sync();
    const rows = await mirror.prisma.conversations.findMany({ select: { id: true, raw: true } });
    const ids = rows.map(({ raw }) => (raw as { id: number | string }).id);
    expect(ids.map(String)).toEqual(rows.map(({ id }) => id));
    expect(ids.filter((id) => typeof id === 'string').length).toBeGreaterThan(5);
    const [first] = await mirror.prisma.$queryRaw<{ raw: { id: unknown } }[]>`
      SELECT raw FROM conversations WHERE id = ${rows.at(-1)?.id}`;
    expect(String(first?.raw.id)).toBe(rows.at(-1)?.id);
  });

  test('composes SQL, compares dates in it, and reads several queries at one moment', async () => {
    const { mirror } = await smallAccount();
    await mirror.sync();
    const [inboxes, conversations] = await mirror.prisma.$transaction([
      mirror.prisma.inboxes.findMany(),
      mirror.prisma.conversations.findMany(),
    ]);
    const [one] = conversations;
    const ids = Prisma.join(inboxes.map(({ id }) => id));
    const found = await mirror.prisma.$queryRaw<{ id: string }[]>(
      Prisma.sql`SELECT id FROM conversations
        WHERE inbox_id IN (${ids}) AND first_seen_at = ${one?.first_seen_at} AND id = ${one?.id}`,
    );
    expect(found).toEqual([{ id: one?.id }]);
  });

  test('reads every model and every view, with the rows and columns that SQL has', async () => {
    const { mirror, place } = await smallAccount();
    await mirror.sync();
    const database = await temporaryDatabase(place);
    const models = Object.values(Prisma.ModelName);
    expect(models.length).toBeGreaterThan(30);
    for (const model of models) {
      const client = mirror.prisma[model] as unknown as { findMany(): Promise<Record<string, unknown>[]> };
      const [rows, expected] = [
        await client.findMany(),
        await database.query<Record<string, unknown>>(`SELECT * FROM ${model}`),
      ];
      expect(rows.length, model).toBe(expected.length);
      if (rows[0] !== undefined)
        expect(Object.keys(rows[0]).sort(), model).toEqual(Object.keys(expected[0] ?? {}).sort());
    }
  });

  test('refuses every operation that writes, and the rows stay', async () => {
    const { mirror, place } = await smallAccount();
    await mirror.sync();
    const before = await countsOf(place);
    const untyped = mirror.prisma as unknown as Record<
      string,
      Record<string, (args?: object) => Promise<unknown>>
    >;
    const key = { inbox_id: '1', id: '1' };
    const row = { ...key, raw: {}, content_hash: '', first_seen_at: new Date(), changed_at: new Date() };
    const where = { inbox_id_id: key };
    const writes: Record<string, object> = {
      create: { data: row },
      createMany: { data: [row] },
      createManyAndReturn: { data: [row] },
      update: { where, data: { status: 'x' } },
      updateMany: { data: { status: 'x' } },
      updateManyAndReturn: { data: { status: 'x' } },
      upsert: { where, create: row, update: {} },
      delete: { where },
      deleteMany: {},
    };
    for (const [operation, args] of Object.entries(writes))
      await expect(untyped['conversations']?.[operation]?.(args), operation).rejects.toMatchObject({
        name: 'MirrorError',
        code: 'USAGE',
        message: expect.stringContaining(`conversations.${operation} would write`) as unknown,
      });
    const raw = [
      'DELETE FROM conversations RETURNING id',
      `INSERT INTO settings (name, value) VALUES ('x', 'y') RETURNING name`,
      'DROP TABLE conversations',
      'CREATE TEMP TABLE conversations (id text)',
      `/* SELECT */ VACUUM INTO '/tmp/copy.db'`,
      'BEGIN',
    ];
    for (const sql of raw)
      await expect(mirror.prisma.$queryRawUnsafe(sql), sql).rejects.toMatchObject({ code: 'USAGE' });
    expect(await countsOf(place)).toEqual(before);
  });
});

describe('changes', () => {
  test('come once each, in order, however often a reader stops and resumes after its last id', async () => {
    const { mirror, program } = await smallAccount();
    await mirror.sync();
    const inbox = firstInbox(program.sandbox);
    for (const status of ['pending', 'closed', 'open']) {
      for (const id of inbox.conversations.order) program.sandbox.world.setStatus(inbox.id, id, status);
      await mirror.sync({ lists: ['conversations'] });
    }
    const all: number[] = [];
    for await (const { id } of mirror.changes()) all.push(id);
    expect(all.length).toBeGreaterThan(40);

    const read: number[] = [];
    for (let stops = 0; read.length < all.length; stops += 1) {
      expect(stops).toBeLessThan(all.length);
      for await (const { id } of mirror.changes({ afterId: read.at(-1) ?? 0 })) {
        read.push(id);
        if (read.length % 7 === 0) break;
      }
    }
    expect(read).toEqual(all);
    const closings: (string | null)[] = [];
    for await (const change of mirror.changes({ inboxId: inbox.id, field: 'status', since: new Date(0) }))
      if (change.newValue === 'closed') closings.push(change.itemId);
    expect(closings.length).toBeGreaterThan(20);
  });

  test('after a cursor that a restored backup has undone end with OTHER_EPOCH, also for a follower', async () => {
    const { mirror, program, place } = await smallAccount();
    await mirror.sync();
    const inbox = firstInbox(program.sandbox);
    const ids = firstIds(inbox.conversations, 20);
    const change = async (count: number, status: string): Promise<void> => {
      for (const id of ids.slice(0, count)) program.sandbox.world.setStatus(inbox.id, id, status);
      await mirror.sync({ lists: ['conversations'] });
    };
    const database = await temporaryDatabase(place);
    await change(3, 'waiting');
    const backup = await backUp(database);
    await change(5, 'urgent');
    const cursors: string[] = [];
    const following = (async () => {
      for await (const { cursor } of mirror.changes({ follow: true })) cursors.push(cursor);
    })();
    const refused = expect(following).rejects.toMatchObject({ code: 'OTHER_EPOCH' });
    while (cursors.length < 8) await pause(20);
    await database.transaction(async (tx) => {
      await restore({ ...database, ...tx }, backup);
      // In one transaction, so that the follower finds no shorter history: it must notice the other epoch.
      await tx.execute(
        `INSERT INTO epochs (after_id, epoch, begun_at) SELECT 3, 'a1b2c3d4e5f6', begun_at FROM epochs`,
      );
      for (let nth = 0; nth < 9; nth += 1)
        await tx.execute(
          `INSERT INTO changes (observed_at, list, item_id, field) SELECT observed_at, list, item_id, field FROM changes WHERE id = 1`,
        );
    });
    await refused;
    const begin = mirror.changes({ afterId: cursors[6] ?? '' });
    await expect(begin.next()).rejects.toMatchObject({ code: 'OTHER_EPOCH' });
    expect((await mirror.changes({ afterId: cursors[2] ?? '' }).next()).value).toMatchObject({ id: 4 });
  });

  test('that come later reach a reader that follows, until its signal is aborted', async () => {
    const { mirror, program } = await smallAccount();
    await mirror.sync();
    const inbox = firstInbox(program.sandbox);
    const [id = ''] = firstIds(inbox.conversations, 1);
    program.sandbox.world.setStatus(inbox.id, id, 'waiting');
    const stop = new AbortController();
    const seen: (string | null)[] = [];
    const reading = (async () => {
      for await (const { newValue } of mirror.changes({ follow: true, signal: stop.signal })) {
        seen.push(newValue);
        stop.abort();
      }
    })();
    await mirror.sync({ lists: ['conversations'], inboxId: inbox.id });
    await reading;
    expect(seen).toEqual(['waiting']);
  });

  test('that come later reach a reader that begins at the latest, until the mirror is closed', async () => {
    const { mirror, program } = await smallAccount();
    await mirror.sync();
    const inbox = firstInbox(program.sandbox);
    const [first = '', second = ''] = firstIds(inbox.conversations, 2);
    program.sandbox.world.setStatus(inbox.id, first, 'before');
    await mirror.sync({ lists: ['conversations'] });
    const seen: (string | null)[] = [];
    const reading = (async () => {
      for await (const { newValue } of mirror.changes({ afterId: 'latest', follow: true }))
        seen.push(newValue);
    })();
    await pause(100);
    program.sandbox.world.setStatus(inbox.id, second, 'after');
    await mirror.sync({ lists: ['conversations'] });
    while (seen.length === 0) await pause(20);
    await mirror.close();
    await reading;
    expect(seen).toEqual(['after']);
  });

  test.each([
    [{ afterId: Number.NaN }, 'afterId'],
    [{ afterId: -1 }, '-1'],
    [{ afterId: '4-x' }, '4-x'],
    [{ since: new Date('x') }, 'since: Invalid input: expected a valid Date'],
    [{ list: 'nope' as never }, 'list'],
    [{ lists: ['tags'] } as never, 'Unrecognized key: "lists"'],
    [{ field: 'statsu' }, 'There is no field "statsu". Perhaps you meant "status".'],
    [{ field: 'email', list: 'tags' as const }, 'There is no field "email" of tags.'],
  ])('with the wrong option %o are refused', async (options, words) => {
    const { mirror } = await smallAccount();
    const refusal = { code: 'USAGE', message: expect.stringContaining(words) as unknown };
    expect(() => mirror.changes(options)).toThrow(expect.objectContaining(refusal) as Error);
  });

  test('of an inbox or an item that the mirror has never had are refused, also for a follower', async () => {
    const { mirror, program } = await smallAccount();
    await mirror.sync();
    const { id, display_name: name } = firstInbox(program.sandbox);
    for (const follow of [false, true])
      for (const [options, words] of [
        [{ inboxId: name }, `changes: inboxId: the mirror has no inbox "${name}". It has: ${name} (${id})`],
        [
          { itemId: 'x' },
          'changes: itemId: the mirror has no conversation, tag, user or inbox with the id "x"',
        ],
      ] as const)
        await expect(mirror.changes({ ...options, follow }).next()).rejects.toMatchObject({
          code: 'USAGE',
          message: expect.stringContaining(words) as unknown,
        });
  });
});

describe('a pass', () => {
  test('reads the lists, reports each, prints nothing, and leaves the key out of the result', async () => {
    const { mirror, program } = await smallAccount();
    const written = vi.spyOn(process.stdout, 'write');
    const warned = vi.spyOn(process.stderr, 'write');
    onTestFinished(() => void vi.restoreAllMocks());

    const result = await mirror.sync();

    expect(result).toMatchObject({ complete: true, resumed: false, order: null });
    expect(result.lists.map(({ list }) => list)).toEqual(
      expect.arrayContaining(['inboxes', 'conversations']),
    );
    expect(result.requests).toBe(program.sandbox.arrivals.length);
    expect(JSON.stringify(result)).not.toContain(SECRET);
    expect([written.mock.calls, warned.mock.calls]).toEqual([[], []]);
    expect((await mirror.freshness()).every(({ state }) => state === 'fresh')).toBe(true);
    expect(await mirror.prisma.conversations.count()).toBe(40);
  });

  test('that the budget stops throws when it can resume, and keeps the lists that are complete', async () => {
    const { mirror } = await smallAccount({ REQUESTS_PER_DAY: '3', REQUESTS_RESERVED: '0' });

    await expect(mirror.sync()).rejects.toMatchObject({
      name: 'MirrorError',
      code: 'BUDGET_SPENT',
      resumeAt: expect.any(Date) as unknown,
    });

    expect(await mirror.prisma.sweeps.count({ where: { state: 'complete' } })).toBeGreaterThan(0);
  });

  test('that the service refuses sends nothing more until a person runs a command', async () => {
    const { mirror, program } = await smallAccount();
    program.sandbox.script(() => ({ status: 401 }));
    await expect(mirror.sync()).rejects.toMatchObject({ code: 'KEY_REFUSED' });
    const sent = program.sandbox.arrivals.length;
    await expect(mirror.sync()).rejects.toMatchObject({ code: 'KEY_REFUSED' });
    expect(program.sandbox.arrivals).toHaveLength(sent);
  });

  test('is done by the daemon while one holds the mirror', async () => {
    const { mirror, program } = await smallAccount();
    const daemon = startDaemon(program);
    await daemon.said(/^answering/);
    // The daemon's own first sweeps.
    while ((await mirror.freshness()).some(({ state }) => state === 'never')) await pause(50);

    const result = await mirror.resync({ lists: ['users'] });

    expect(result).toMatchObject({ complete: true, order: expect.any(Number) as unknown });
    const order = await mirror.prisma.sync_requests.findUnique({ where: { id: result.order ?? 0 } });
    expect(order).toMatchObject({
      kind: 'resync',
      state: 'done',
      requested_by: 'inbox-mirror library: resync',
    });
  });

  test('waits for another one of the process, beside a daemon too, and does not block it', async () => {
    const { mirror, program } = await smallAccount();
    const daemon = startDaemon(program);
    await daemon.said(/^answering/);
    while ((await mirror.freshness()).some(({ state }) => state === 'never')) await pause(50);

    const ended = await Promise.all([
      mirror.sync({ lists: ['tags'] }),
      mirror.sync({ lists: ['users'] }),
      mirror.resync({ lists: ['tags'] }),
    ]);

    expect(ended.map(({ complete }) => complete)).toEqual([true, true, true]);
  });

  test('keeps nothing of a signal that outlives it', async () => {
    const { mirror } = await smallAccount();
    const { signal } = new AbortController();
    await mirror.sync({ lists: ['inboxes'], signal });
    await mirror.sync({ lists: ['inboxes'], signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('ends with STOPPED at an aborted signal, and the next one resumes it', async () => {
    const { mirror, program } = await smallAccount();
    const stop = new AbortController();
    program.sandbox.script(() => {
      if (program.sandbox.arrivals.length === 3) stop.abort();
      return undefined;
    });
    await expect(mirror.sync({ signal: stop.signal })).rejects.toMatchObject({ code: 'STOPPED' });
    await expect(mirror.sync({ signal: stop.signal })).rejects.toMatchObject({ code: 'STOPPED' });
    expect(await mirror.sync()).toMatchObject({ complete: true, resumed: true });
  });

  test('sends a new key of the environment after the old one was refused', async () => {
    const { mirror, program } = await smallAccount();
    const right = program.env['INBOX_API_KEY'] ?? '';
    program.env['INBOX_API_KEY'] = 'wrong-key-for-this-test';
    await expect(mirror.sync()).rejects.toMatchObject({ code: 'KEY_REFUSED' });
    program.env['INBOX_API_KEY'] = right;
    expect(await mirror.sync()).toMatchObject({ complete: true });
  });

  test('refuses a list that does not exist, and none at all', async () => {
    const { mirror, program } = await smallAccount();
    for (const lists of [[], ['nope']] as never[])
      await expect(mirror.sync({ lists })).rejects.toMatchObject({ code: 'USAGE' });
    expect(program.sandbox.arrivals).toEqual([]);
  });

  test.each([
    [{ list: 'users' }, 'sync: Unrecognized key: "list". The options are: lists, inboxId, signal.'],
    [{ inboxId: 20_117 }, 'sync: inboxId: Invalid input: expected string, received number.'],
    [{ acceptDeletes: true }, 'sync: Unrecognized key: "acceptDeletes".'],
  ])('of a caller in plain JavaScript refuses the options %j', async (options, message) => {
    const { mirror, program } = await smallAccount();
    const refused = { code: 'USAGE', message: expect.stringContaining(message) as unknown };
    await expect(mirror.sync(options as never)).rejects.toMatchObject(refused);
    expect(program.sandbox.arrivals).toEqual([]);
  });

  test('says which variables are missing', async () => {
    const { place } = await smallAccount();
    const mirror = await openMirror({ address: urlOf(place), env: {} });
    onTestFinished(() => mirror.close());
    await expect(mirror.sync()).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/INBOX_API_URL[^]*INBOX_API_KEY/) as unknown,
    });
  });
});

describe('opening', () => {
  test('fails with a sentence where there is no mirror, and creates none', async () => {
    const place = await newPlace();
    for (let times = 0; times < 2; times += 1)
      await expect(openMirror(urlOf(place))).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringContaining('There is no mirror at') as unknown,
      });
  });

  test.each([
    [{ adress: 'file:./other.db' }, 'Unrecognized key: "adress". The options are: address, env, cwd.'],
    [{ address: new URL('file:///other.db') }, 'address: Invalid input: expected string'],
    ['', 'address: is empty; without an address, DATABASE_URL is read'],
    [{ address: ' ' }, 'address: is empty'],
    [5, 'Invalid input: expected object, received number'],
    [null, 'Invalid input: expected object, received null'],
    [new URL('file:///other.db'), 'Unrecognized key'],
  ])('for a caller in plain JavaScript refuses the options %j', async (options, message) => {
    await expect(openMirror(options as never)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(`openMirror: ${message}`) as unknown,
    });
  });

  test('fails for a database of another program, for a folder and for another file', async () => {
    const folder = temporaryFolder();
    const text = join(folder, 'notes.txt');
    writeFileSync(text, 'not a database, however long this text becomes');
    const foreign = await newPlace();
    if (ON_SQLITE) new DatabaseSync(foreign).exec('CREATE TABLE customers (id INTEGER)');
    else await onServer('CREATE TABLE customers (id INTEGER)', foreign);
    await expect(openMirror(urlOf(foreign))).rejects.toMatchObject({ code: 'USAGE' });
    await expect(openMirror(`file:${folder}`)).rejects.toMatchObject({ code: 'USAGE' });
    await expect(openMirror(`file:${text}`)).rejects.toMatchObject({ code: 'DATABASE' });
  });

  test('needs nothing of the environment but the address', async () => {
    const { place } = await smallAccount();
    const env = { LOG_LEVEL: 'nonsense', HTTP_PORT: 'abc', DATABASE_URL_FILE: '/nowhere' };
    const mirror = await openMirror({ address: urlOf(place), env });
    expect(await mirror.prisma.inboxes.count()).toBe(0);
    await mirror.close();
  });

  test("fails for an older program's mirror, and leaves it as it is", async () => {
    const place = await freshMirrorFile();
    const database = await temporaryDatabase(place);
    const newest = `migration_name = (SELECT max(migration_name) FROM _prisma_migrations)`;
    await database.execute(`DELETE FROM _prisma_migrations WHERE ${newest}`);
    await expect(openMirror(urlOf(place))).rejects.toMatchObject({
      code: 'DATABASE',
      message: expect.stringContaining('was made by an older inbox-mirror') as unknown,
    });
  });

  test('fails for a wrong address, and the error does not show its password', async () => {
    const address = ON_SQLITE ? 'mysql://user:s3cret@host/db' : 'postgresql://user:s3cret@127.0.0.1:1/db';
    const error = await openMirror(address).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'MirrorError', code: ON_SQLITE ? 'CONFIG' : 'DATABASE' });
    expect(String(error)).not.toContain('s3cret');
  });

  test('closes at the end of an `await using` block, and twice without harm', async () => {
    const { program } = await smallAccount();
    let kept: OpenedMirror;
    {
      await using mirror = await openMirror({ env: program.env, cwd: program.folder });
      kept = mirror;
      expect(await mirror.prisma.inboxes.count()).toBe(0);
    }
    await kept.close();
    const closed = { code: 'USAGE', message: expect.stringContaining('is closed') as unknown };
    await expect(kept.prisma.inboxes.count()).rejects.toMatchObject(closed);
    await expect(kept.freshness()).rejects.toMatchObject(closed);
    expect(() => kept.changes()).toThrow('is closed');
    await expect(kept.sync()).rejects.toMatchObject(closed);
    await expect(kept.resync()).rejects.toMatchObject(closed);
  });
});

async function countsOf(place: string) {
  const database = await temporaryDatabase(place);
  const count = async (table: string): Promise<number> => {
    const [row] = await database.query<{ n: number }>(`SELECT count(*) AS n FROM ${table}`);
    return row?.n ?? 0;
  };
  return {
    conversations: await count('conversations'),
    tagged: await count('conversation_tags'),
    users: await count('inbox_users'),
    tags: await count('inbox_tags'),
  };
}
