import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startServer } from '../../prisma/embedded.ts';
import type { Database } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';
import { openMirror } from '../../src/library/library.ts';
import { openReadOnly } from '../../src/query/open.ts';
import { listenAndCut } from '../support/cutting-proxy.ts';
import {
  mirrorOf,
  newPlace,
  temporaryDatabase,
  temporaryFolder,
  type TestMirror,
} from '../support/mirror.ts';
import { createDatabase, newPostgresDatabase, onServer, postgresUrl } from '../support/provider.ts';
import { startQuery } from '../support/query-process.ts';
import { asRole } from '../support/roles.ts';
import { count } from '../support/rows.ts';
import { freshMirrorFile } from '../support/template.ts';
import { addTrigger } from '../support/triggers.ts';
import { expectEqualToService } from '../support/truth.ts';

/** The password of the server's first user. `FORMS` has it as it is and URL-encoded. */
const PASSWORD = decodeURIComponent(new URL(postgresUrl('x')).password);
const FORMS = [PASSWORD, encodeURIComponent(PASSWORD)];

/** The error of a failed open. Checks that neither it nor its cause has the password. */
async function failureOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = (await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )) as Error & { code: string };
  const all = `${error.stack} ${JSON.stringify(error.cause)} ${String(error.cause)}`;
  for (const form of FORMS) expect(all).not.toContain(form);
  return { code: error.code, message: error.message };
}

function changed(url: string, change: (address: URL) => void): string {
  const address = new URL(url);
  change(address);
  return address.href;
}

describe('opening a mirror fails with a message about', () => {
  test('a server that does not run', async () => {
    const url = changed(await newPlace(), (address) => (address.port = '1'));
    expect(await failureOf(openDatabase(url))).toEqual({
      code: 'DATABASE',
      message: expect.stringMatching(
        /^The database postgresql:\/\/postgres@127\.0\.0\.1:1\/\w+\?schema=public cannot be reached\. .*, then run the command again\.$/,
      ),
    });
  });

  test('a host that does not exist', async () => {
    const url = changed(await newPlace(), (address) => (address.hostname = 'nowhere.invalid'));
    expect(await failureOf(openDatabase(url))).toMatchObject({
      code: 'DATABASE',
      message: expect.stringContaining('cannot be reached'),
    });
  });

  test('a missing file of certificates', async () => {
    const url = changed(
      await newPlace(),
      (address) => (address.search = 'sslmode=verify-full&sslrootcert=/nowhere/root.crt'),
    );
    for (const failing of [openDatabase(url), openReadOnly(url)])
      expect(await failureOf(failing)).toEqual({
        code: 'DATABASE',
        message: expect.stringMatching(/cannot be reached over a secure connection.*'\/nowhere\/root\.crt'/),
      });
  });

  test('another program’s view that has the name of one of the mirror’s views', async () => {
    const url = await newPostgresDatabase();
    await onServer('CREATE VIEW budget AS SELECT 1 AS money', url);
    expect(await failureOf(openDatabase(url))).toMatchObject({
      code: 'DATABASE',
      message: expect.stringContaining(
        'with a name that the mirror needs. Rename it, or give the mirror a separate schema',
      ),
    });
  });

  // A migration that is applied again meets what it has made, as it would meet a person's own tables and views.
  test.each([
    [
      'table',
      'SELECT 1',
      'counted_days',
      'another program’s table or view with a name that the mirror needs',
    ],
    [
      'view of a column that a migration removes',
      'ALTER TABLE schedules ADD due_before int; CREATE VIEW mine AS SELECT due_before FROM schedules',
      'one_slot',
      'has views of your own',
    ],
    [
      'trigger that refuses the migrations',
      `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not now''; END';
       CREATE TRIGGER no BEFORE INSERT ON _prisma_migrations FOR EACH ROW EXECUTE FUNCTION no()`,
      'one_slot',
      'refuses a statement: not now (P0001)',
    ],
  ])('a person’s own %s in the way of a migration', async (_what, statements, migration, sentence) => {
    const url = await freshMirrorFile();
    await onServer(
      `${statements}; DELETE FROM _prisma_migrations WHERE migration_name LIKE '%${migration}'`,
      url,
    );
    expect(await failureOf(openDatabase(url))).toEqual({
      code: expect.stringMatching(/^(DATABASE|STATEMENT_REFUSED)$/),
      message: expect.stringContaining(sentence),
    });
    // The older program, which may still run, has all its views.
    await onServer('SELECT FROM freshness, backlog_daily', url);
  });

  test('a wrong password', async () => {
    const url = changed(await newPlace(), (address) => (address.password = 'wr0ng-one'));
    const { code, message } = await failureOf(openDatabase(url));
    expect(code).toBe('DATABASE');
    expect(message).toContain('refuses this user or password');
    expect(message).not.toContain('wr0ng-one');
  });

  test('a server that admits no connection without TLS', async () => {
    const server = await startServer();
    onTestFinished(() => server.remove());
    onTestFinished(() => server.stop());
    const url = server.url('postgres');
    const client = new Client(url);
    await client.connect();
    const { rows } = await client.query<{ hba_file: string }>('SHOW hba_file');
    // A rule rejects the database `refused`; no rule matches the others.
    writeFileSync(rows[0]!.hba_file, 'hostssl all all all scram-sha-256\nhost refused all all reject\n');
    await client.query('SELECT pg_reload_conf()');
    await client.end();
    for (const [address, words] of [
      [url, 'no pg_hba.conf entry for host'],
      [server.url('refused'), 'pg_hba.conf rejects connection for host'],
    ] as const)
      for (const open of [openDatabase, openReadOnly])
        await expect
          .poll(() => failureOf(open(address)))
          .toEqual({
            code: 'DATABASE',
            message: expect.stringMatching(
              new RegExp(`wants TLS.* sslmode=verify-full&sslrootcert=.*\\(${words} .*no encryption\\)\\.$`),
            ),
          });
  });

  test('a database that does not exist', async () => {
    expect(await failureOf(openDatabase(postgresUrl('nowhere')))).toMatchObject({
      code: 'DATABASE',
      message: expect.stringContaining('does not exist: the server has no database of this name'),
    });
  });

  test.each(['LATIN1', 'SQL_ASCII'])('a database of the encoding %s', async (encoding) => {
    const name = await createDatabase(`template0 ENCODING ${encoding}`);
    onTestFinished(() => onServer(`DROP DATABASE ${name} WITH (FORCE)`));
    const url = postgresUrl(name);
    expect(await failureOf(openDatabase(url))).toEqual({
      code: 'CONFIG',
      message: expect.stringContaining(`has the encoding ${encoding}, which cannot hold every text`),
    });
    await onServer('CREATE TABLE settings (is_left text)', url);
  });

  test('missing rights', async () => {
    const url = await asRole(await newPlace());
    expect(await failureOf(openDatabase(url))).toMatchObject({
      code: 'DATABASE',
      message: expect.stringMatching(/gives this user too few rights.*permission denied for schema public/),
    });
  });

  test('tables that a restore gave to another user, where the schema is the user’s', async () => {
    const place = await freshMirrorFile();
    const url = await asRole(place, 'ALTER SCHEMA public OWNER TO me');
    // The role's schema would be dropped with it.
    onTestFinished(() => onServer('ALTER SCHEMA public OWNER TO postgres', place));
    expect(await failureOf(openDatabase(url))).toMatchObject({
      code: 'DATABASE',
      message: expect.stringMatching(
        /SELECT on the.*owner of the schema and of its tables and views.*pg_restore --no-owner --role=USER.*denied for table/,
      ),
    });
  });

  test.each([
    ['begins', /BEGIN/],
    ['creates its table', /CREATE TABLE IF NOT/],
    ['locks it', /LOCK TABLE _prisma/],
    ['creates the tables', /CREATE TABLE "inboxes"/],
    ['commits', /COMMIT/],
  ])(
    'a connection that is cut while the first migration %s, and the next try succeeds',
    async (_what, text) => {
      const url = await newPostgresDatabase();
      expect(await failureOf(openDatabase(await listenAndCut(url, text)))).toMatchObject({
        code: 'DATABASE',
        message: expect.stringContaining('has closed the connection'),
      });
      await (await openDatabase(url)).close();
    },
  );

  test('too many connections', async () => {
    const url = await asRole(await freshMirrorFile(), 'ALTER ROLE me CONNECTION LIMIT 0');
    expect(await failureOf(openDatabase(url))).toMatchObject({
      code: 'DATABASE',
      message: expect.stringContaining('accepts no more connections'),
    });
  });
});

test.each([
  ['53100', 'the disk is full'],
  ['55P03', 'is locked by another program'],
  ['25006', 'is read-only here'],
  ['53200', 'is short of memory'],
  ['57014', 'has stopped the statement'],
  ['40001', 'is being changed'],
  ['25P04', 'longer than its transaction_timeout'],
  ['55000', 'is being changed'],
  ['58030', 'cannot read or write its files'],
])('a write that the server refuses with %s stops the pass with a message: %s', async (state, sentence) => {
  const mirror = await mirrorOf({ path: await freshMirrorFile(), sandbox: { conversations: [5] } });
  const refuses = `TRUE THEN RAISE EXCEPTION 'so it is' USING ERRCODE = '${state}'; END IF; IF FALSE`;
  await addTrigger(mirror.database, {
    name: 'refuse',
    when: 'BEFORE',
    verb: 'INSERT',
    table: 'sweep_pages',
    refuses,
  });
  expect((await mirror.sync()).stopped).toMatchObject({
    code: 'DATABASE',
    message: expect.stringContaining(sentence),
  });
});

describe('a role with a transaction_timeout', () => {
  const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)';
  const GRANT = 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO me';
  const LIMIT = `ALTER ROLE me SET transaction_timeout = '300ms'`;

  test('creates and fills a mirror, because the mirror’s own sessions have no such limit', async () => {
    const path = await asRole(await newPlace(), 'GRANT USAGE, CREATE ON SCHEMA public TO me', LIMIT);
    const mirror = await mirrorOf({ path });
    expect(await mirror.database.query('SHOW transaction_timeout')).toEqual([{ transaction_timeout: '0' }]);
    expect((await mirror.sync()).stopped).toBeNull();
  });

  test('reads with a message that names the limit', async () => {
    const reader = await openReadOnly(await asRole(await freshMirrorFile(), GRANT, LIMIT));
    onTestFinished(() => reader.close());
    expect(await failureOf(reader.query(`${ENDLESS} SELECT count(*) FROM n`))).toEqual({
      code: 'DATABASE',
      message: expect.stringMatching(
        /longer than its transaction_timeout allows.*\(.* transaction timeout\)/,
      ),
    });
  });

  test('reads with that message also after a pause in which the server has ended the transaction', async () => {
    const path = await freshMirrorFile();
    const reader = await openReadOnly(await asRole(path, GRANT, LIMIT));
    onTestFinished(() => reader.close());
    const { rows } = await reader.query(`${ENDLESS} SELECT i FROM n`);
    const other = await temporaryDatabase(path);
    const sessions = (): Promise<unknown[]> =>
      other.query(`SELECT pid FROM pg_stat_activity WHERE query LIKE 'WITH RECURSIVE%'
        AND datname = current_database() AND pid <> pg_backend_pid()`);
    const readSlowly = async (): Promise<void> => {
      for await (const [i] of rows) if (i === 1) await expect.poll(sessions).toEqual([]);
    };
    expect(await failureOf(readSlowly())).toMatchObject({
      message: expect.stringContaining('transaction_timeout'),
    });
  });
});

test('a server restart stops a sync with a message, and the same process can sync again', async () => {
  const server = await startServer();
  onTestFinished(() => server.remove());
  onTestFinished(() => server.stop());
  const mirror = await mirrorOf({
    path: server.url('postgres'),
    pageSize: 10,
    sandbox: { conversations: [95] },
  });
  let stopping: Promise<void> | undefined;
  mirror.sandbox.script(() => {
    if (mirror.sandbox.arrivals.length === 7) stopping = server.stop();
    return undefined;
  });
  const { stopped } = await mirror.sync();
  expect(stopped).toMatchObject({
    code: 'DATABASE',
    message: expect.stringMatching(/has closed the connection|cannot be reached/),
  });
  await stopping;
  await expect(mirror.sync()).rejects.toMatchObject({
    code: 'DATABASE',
    message: expect.stringContaining('cannot be reached'),
  });
  await server.start();
  mirror.sandbox.script(undefined);
  expect((await mirror.sync()).stopped).toBeNull();
  await expectEqualToService(mirror);
  expect(await count(mirror.database, 'requests')).toBeGreaterThanOrEqual(mirror.sandbox.arrivals.length);
});

test.each([
  [`pg_terminate_backend(pid)`, 'has closed the connection'],
  [`pg_cancel_backend(pid)`, 'has stopped the statement'],
])('after %s, a read of the typed client fails: the server %s', async (ends, sentence) => {
  const url = await freshMirrorFile();
  const database = await temporaryDatabase(url);
  const other = new Client(url);
  await other.connect();
  onTestFinished(() => other.end());
  await other.query('BEGIN; LOCK TABLE sync_requests');
  const reading = failureOf(database.typed((typed) => typed.sync_requests.findMany()));
  const waiting = `FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  // The typed client is loaded first.
  const ended = (): Promise<unknown[]> => database.query(`SELECT ${ends} ${waiting}`);
  await expect.poll(ended).toHaveLength(1);
  expect(await reading).toEqual({ code: 'DATABASE', message: expect.stringContaining(sentence) });
});

describe('sequences that are behind their tables, as after logical replication,', () => {
  const TABLES = ['changes', 'requests', 'sweeps', 'status_spans'];

  async function changedMirror(): Promise<{ mirror: TestMirror; url: string; reset: () => Promise<void> }> {
    const url = await freshMirrorFile();
    const mirror = await mirrorOf({ path: url });
    await mirror.sync();
    mirror.sandbox.applyEvents(10);
    await mirror.sync();
    mirror.sandbox.applyEvents(10);
    const reset = async (): Promise<void> =>
      await onServer(TABLES.map((table) => `ALTER SEQUENCE ${table}_id_seq RESTART`).join('; '), url);
    return { mirror, url, reset };
  }

  test('are set when the mirror is opened', async () => {
    const { mirror, url, reset } = await changedMirror();
    const before = await maxima(mirror.database);
    await reset();
    await onServer('CREATE TABLE notes (id serial); INSERT INTO notes VALUES (1000)', url);
    await temporaryDatabase(url);
    const [notes] = await mirror.database.query('SELECT last_value FROM notes_id_seq');
    expect(notes, 'the sequences of other tables stay').toEqual({ last_value: 1 });
    expect((await mirror.sync()).stopped).toBeNull();
    await expectEqualToService(mirror);
    const after = await maxima(mirror.database);
    for (const table of TABLES) expect(after[table], table).toBeGreaterThan(before[table]!);
  });

  test('stop one pass of a mirror that is open, with a message, and are set for the next', async () => {
    const { mirror, reset } = await changedMirror();
    await reset();
    const { stopped } = await mirror.sync();
    expect(stopped).toMatchObject({ code: 'DATABASE', message: expect.stringContaining('They are set now') });
    expect((await mirror.sync()).stopped).toBeNull();
    await expectEqualToService(mirror);
  });

  test('are set after a connection is new, also where the rows with the first ids are gone', async () => {
    const { mirror, url, reset } = await changedMirror();
    await onServer(`SELECT setval('requests_id_seq', 5000)`, url);
    await mirror.sync();
    await mirror.database.execute('DELETE FROM requests WHERE id <= 5000');
    await reset();
    await onServer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      url,
    );
    // Statements that come at once wait for the look.
    const insert = `INSERT INTO requests (sent_at, method, path, reason) VALUES (now(), 'GET', '/x', 'manual')`;
    await Promise.allSettled(Array.from({ length: 4 }, () => mirror.database.execute(insert)));
    await expect.poll(async () => (await mirror.sync().catch(() => null))?.stopped).toBeNull();
    expect(await count(mirror.database, 'requests WHERE id <= 5000')).toBe(0);
    await expectEqualToService(mirror);
  });

  async function maxima({ query }: Database): Promise<Record<string, number>> {
    const [row] = await query<Record<string, number>>(
      `SELECT ${TABLES.map((table) => `(SELECT max(id) FROM ${table}) AS ${table}`).join(', ')}`,
    );
    return row!;
  }
});

test('certificates that are missing for a moment fail statements, and end no process', async () => {
  const file = join(temporaryFolder(), 'root.crt');
  writeFileSync(file, '');
  const url = changed(
    await freshMirrorFile(),
    (address) => (address.search = `sslmode=disable&sslrootcert=${file}`),
  );
  const database = await temporaryDatabase(url);
  // One connection is idle: the driver's pool makes the others in a callback of its own.
  await database.query('SELECT 1');
  rmSync(file);
  const ends = await Promise.allSettled([1, 2, 3].map(() => database.query('SELECT 1')));
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(ends[1]).toMatchObject({ reason: { code: 'DATABASE', message: expect.stringContaining(file) } });
  writeFileSync(file, '');
  await Promise.all([1, 2, 3].map(() => database.query('SELECT 1')));
});

test('a mirror that a program closes ends each query and loop, also those that wait for a connection', async () => {
  const mirror = await openMirror(await freshMirrorFile());
  const queries = Array.from({ length: 20 }, () => mirror.prisma.$queryRaw`SELECT 1 FROM pg_sleep(0.1)`);
  const loops = Array.from({ length: 3 }, () => Array.fromAsync(mirror.changes({ follow: true })));
  const settled = Promise.allSettled(queries);
  await Promise.race(queries);

  await mirror.close();

  expect(await Promise.all(loops)).toEqual([[], [], []]);
  const refused = (await settled).filter((query) => query.status === 'rejected');
  expect(refused.length).toBeGreaterThan(5);
  for (const { reason } of refused) expect(reason).toMatchObject({ name: 'MirrorError', code: 'USAGE' });
});

test('a reader in an open transaction neither blocks a sync nor sees half of it', async () => {
  const path = await freshMirrorFile();
  const mirror = await mirrorOf({ path, pageSize: 10, sandbox: { conversations: [45] } });
  const reader = await openReadOnly(path);
  onTestFinished(() => reader.close());
  const { rows } = await reader.query(`SELECT count(*) FROM conversations, generate_series(1, 2000)`);
  expect((await mirror.sync()).stopped).toBeNull();
  expect(await Array.fromAsync(rows)).toEqual([[0]]);
});

// The letters and lengths of the driver's messages to the server.
test.each([
  ['is prepared', /generate_series/],
  ['is executed', /E\0\0\0.C_\d+\0/s],
  ['has sent its last rows', /C\0\0\0.PC_\d+\0/s],
])(
  'a connection that is cut when a statement %s fails the query',
  async (_what, text) => {
    const reader = await openReadOnly(await listenAndCut(await freshMirrorFile(), text));
    const read = async (): Promise<unknown> =>
      await Array.fromAsync((await reader.query('SELECT n FROM generate_series(1, 10) AS n')).rows);
    expect(await failureOf(read())).toMatchObject({
      code: 'DATABASE',
      message: expect.stringContaining('has closed the connection'),
    });
    await reader.close();
  },
  10_000,
);

describe('a mirror in a separate schema', () => {
  test('creates a missing schema, even from several processes at once, and uses no other', async () => {
    const url = await newPostgresDatabase();
    const [one, other] = [`${url}?schema=Support_1`, `${url}?schema=support_1`];
    const opened = await Promise.all([one, one, one, other].map((address) => openDatabase(address)));
    for (const database of opened) onTestFinished(() => database.close());
    await opened[0]!.execute(`INSERT INTO gate_state (id) VALUES (1)`);
    expect(await count(opened[1]!, 'gate_state')).toBe(1);
    expect(await count(opened[3]!, 'gate_state')).toBe(0);
    const tables = await opened[3]!.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`);
    expect(tables).toEqual([]);
    expect(await opened[0]!.bytes()).toBeGreaterThan(100_000);
  });

  test('needs rights on that schema only', async () => {
    const url = await newPostgresDatabase();
    const address = `${await asRole(url, 'CREATE SCHEMA own AUTHORIZATION me')}?schema=own`;
    const mirror = await mirrorOf({ path: address, sandbox: { conversations: [5] } });
    expect((await mirror.sync()).stopped).toBeNull();
    await expectEqualToService(mirror);
  });
});

test('a database is addressed by its name, whatever characters that has', async () => {
  const name = `a/b?c#d%e%2Ff:g@h+i&j=k ü ${process.pid}`;
  await onServer(`CREATE DATABASE "${name}"`);
  onTestFinished(() => onServer(`DROP DATABASE "${name}" WITH (FORCE)`));
  const url = postgresUrl(encodeURIComponent(name));
  const mirror = await mirrorOf({ path: url, sandbox: { conversations: [5] } });
  expect((await mirror.sync()).stopped).toBeNull();
  const reader = await openReadOnly(url);
  onTestFinished(() => reader.close());
  const { rows } = await reader.query('SELECT current_database(), count(*) FROM conversations');
  expect(await Array.fromAsync(rows)).toEqual([[name, 5]]);
  const opened = await openMirror(url);
  onTestFinished(() => opened.close());
  expect(await opened.prisma.conversations.count()).toBe(5);
});

test('instants are read in UTC, whatever the server’s time zone', async () => {
  const url = await freshMirrorFile();
  await onServer(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET TimeZone = 'Asia/Kolkata'`);
  const database = await temporaryDatabase(url);
  const at = new Date('2026-03-02T08:00:00.123Z');
  await database.execute(`INSERT INTO gate_state (id, paused_at) VALUES (1, $1)`, at.toISOString());
  expect(await database.query(`SELECT paused_at FROM gate_state`)).toEqual([{ paused_at: at }]);
  const reader = await openReadOnly(url);
  onTestFinished(() => reader.close());
  expect(await Array.fromAsync((await reader.query('SELECT paused_at FROM gate_state')).rows)).toEqual([
    [at.toISOString()],
  ]);
});

test.each([
  ['off', 'local'],
  ['remote_apply', 'remote_apply'],
])('with synchronous_commit = %s, the mirror writes with %s', async (set, used) => {
  const url = await freshMirrorFile();
  await onServer(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = ${set}`);
  const database = await temporaryDatabase(url);
  expect(await database.query('SHOW synchronous_commit')).toEqual([{ synchronous_commit: used }]);
});

test('a server that compiles queries compiles none of the mirror: that can take longer than the query', async () => {
  const url = await freshMirrorFile();
  await onServer(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET jit = on`);
  const writer = await temporaryDatabase(url);
  const reader = await openMirror(url);
  onTestFinished(() => reader.close());
  expect(await writer.query('SHOW jit')).toEqual([{ jit: 'off' }]);
  expect(await reader.prisma.$queryRaw`SELECT current_setting('jit') AS jit`).toEqual([{ jit: 'off' }]);
});

test.each([
  ['sslmode=require', 1],
  ['sslmode=verify-full', 0],
  ['uselibpqcompat=true&sslmode=require', 0],
])('with %s the program warns %i times, and the driver never', async (parameters, times) => {
  const query = startQuery(`${await newPlace()}?${parameters}`, 'SELECT 1');
  expect(await query.ended).toMatchObject({ by: 1 });
  expect(query.errors()).toContain('does not support SSL connections');
  expect(query.errors().match(/warning/gi)?.length ?? 0).toBe(times);
  if (times > 0)
    expect(query.errors().replaceAll(/\s+/g, ' ')).toContain(
      'warning: DATABASE_URL: sslmode=require checks the server’s certificate, as verify-full does. ' +
        'Write sslmode=verify-full, or for libpq’s weaker check uselibpqcompat=true&sslmode=require.',
    );
});
