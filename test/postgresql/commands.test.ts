import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { VIEW_NAMES } from '../../src/database/catalogue.ts';
import type { Output } from '../../src/session/terminal.ts';
import { newPlace } from '../support/mirror.ts';
import { firstInbox, parseLines } from '../support/rows.ts';
import { type Ran, type TestProgram, testProgram } from '../support/program.ts';
import { onServer, postgresUrl } from '../support/provider.ts';
import { startQuery } from '../support/query-process.ts';

interface OnPostgres extends TestProgram {
  readonly url: string;
}

/** The program with its mirror on PostgreSQL. Each run checks that no output has the password. */
async function onPostgres(): Promise<OnPostgres> {
  const url = `${await newPlace()}?schema=mirror`;
  const program = await testProgram({ conversations: [12] }, { DATABASE_URL: url });
  const { password } = new URL(url);
  return {
    ...program,
    url,
    async run(...argv): Promise<Ran> {
      const ran = await program.run(...argv);
      for (const form of [password, decodeURIComponent(password)])
        expect(ran.stdout + ran.stderr).not.toContain(form);
      return ran;
    },
  };
}

test('sync, resync, status, doctor, query and changes work, and none prints the password', async () => {
  const program = await onPostgres();
  const before = await program.run('status');
  expect(before.exitCode).toBe(2);
  expect(before.stderr).toMatch(
    /There is no mirror at postgresql:\/\/postgres@127\.0\.0\.1:\d+\/\w+\?schema=mirror yet/,
  );

  expect((await program.run('sync')).exitCode).toBe(0);
  expect((await program.run('resync', '--json')).exitCode).toBe(0);
  expect((await program.run('status')).stdout).toContain('fresh');
  expect((await program.run('status', '--json')).exitCode).toBe(0);
  expect((await program.run('doctor')).stdout).toMatch(/database .*opens and its tables are up to date/);
  const { stdout } = await program.run(
    'query',
    'SELECT count(*) AS n FROM conversations',
    '--format',
    'ndjson',
  );
  expect(stdout).toBe('{"n":12}\n');

  const inbox = firstInbox(program.sandbox);
  program.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'another');
  await program.run('sync', 'conversations');
  const { stdout: changes } = await program.run('changes', '--format', 'ndjson');
  expect(parseLines(changes)).toEqual([expect.objectContaining({ field: 'status', new_value: 'another' })]);
});

test('changes --follow and status --watch survive a server that refuses them for a while', async () => {
  const program = await onPostgres();
  await program.run('sync');
  const database = decodeURIComponent(new URL(program.url).pathname.slice(1));
  const allow = async (is: boolean): Promise<void> => {
    await onServer(`ALTER DATABASE "${database}" ALLOW_CONNECTIONS ${is}`);
    if (!is)
      await onServer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
  };
  const stop = new AbortController();
  const run = (stdout: object, errors: string[], ...argv: string[]): Promise<number> => {
    const stderr = { write: (text: string) => void errors.push(text) };
    const io = {
      env: program.env,
      cwd: program.folder,
      stdout: stdout as Output,
      stderr,
      signal: stop.signal,
    };
    return runProgram(argv, io, '0.0.0-test');
  };
  const [followed, warned, drawn]: [string[], string[], string[]] = [[], [], []];
  const terminal = { write: (text: string) => void drawn.push(text), isTTY: true, columns: 80 };
  const following = run(
    { write: (text: string) => void followed.push(text) },
    warned,
    'changes',
    '--follow',
    '--format',
    'ndjson',
  );
  const watching = run(terminal, drawn, 'status', '--watch');
  await expect.poll(() => drawn.join('')).toContain('all fresh');
  await allow(false);
  await expect.poll(() => warned.join(''), { timeout: 15_000 }).toContain('--follow tries again');
  await expect.poll(() => drawn.join(''), { timeout: 15_000 }).toContain('--watch tries');
  const shown = drawn.length;
  await allow(true);
  const inbox = firstInbox(program.sandbox);
  program.sandbox.world.setStatus(inbox.id, inbox.conversations.order[0]!, 'another');
  await program.run('sync', 'conversations');
  await expect.poll(() => followed.join(''), { timeout: 15_000 }).toContain('"another"');
  await expect.poll(() => drawn.slice(shown).join(''), { timeout: 15_000 }).toContain('all fresh');
  stop.abort();
  expect([await following, await watching]).toEqual([130, 130]);
  expect(parseLines(followed.join(''))).toHaveLength(1);
  expect(warned).toHaveLength(1);
});

test('doctor without a mirror creates neither schema nor tables', async () => {
  const program = await onPostgres();
  const { exitCode, stdout } = await program.run('doctor');
  expect(exitCode).toBe(0);
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    new RegExp(
      `ok database no mirror yet: the first sync creates \\d+ tables and ${VIEW_NAMES.length} views in`,
    ),
  );
  const client = new Client({ connectionString: program.url.replace('?schema=mirror', '') });
  await client.connect();
  const { rows } = await client.query(
    `SELECT nspname FROM pg_namespace WHERE nspname = 'mirror'
     UNION ALL SELECT tablename FROM pg_tables WHERE schemaname = 'public'`,
  );
  await client.end();
  expect(rows).toEqual([]);
});

test('a command exits 1 with a message if its database cannot be opened', async () => {
  const program = await onPostgres();
  program.env['DATABASE_URL'] = program.url.replace(/:\d+\//, ':1/');
  for (const command of [['sync'], ['status'], ['query', 'SELECT 1'], ['doctor']]) {
    const { exitCode, stdout, stderr } = await program.run(...command);
    expect(exitCode).toBe(1);
    expect(stdout + stderr).toContain('cannot be reached');
  }
});

test('a mirror in a schema that was renamed away and made again stays within the day', async () => {
  const program = await onPostgres();
  const limits = { REQUESTS_PER_DAY: '3', REQUESTS_RESERVED: '0', INBOX_STATE_DIR: 'state' };
  Object.assign(program.env, limits);
  expect((await program.run('sync')).exitCode).toBe(4);
  await onServer('ALTER SCHEMA mirror RENAME TO away', program.url);
  const { exitCode, stderr } = await program.run('sync');
  expect(exitCode).toBe(4);
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain('?schema=mirror used this key and sent 3 requests');
  expect(program.sandbox.arrivals).toHaveLength(3);
});

describe('query', () => {
  test('names a list whose first walk has failed, if the answer is made from it', async () => {
    const program = await onPostgres();
    program.sandbox.faults.set('tags', 'forbidden');
    await program.run('sync');
    const warned = async (sql: string): Promise<string> => (await program.run('query', sql)).stderr;
    expect(await warned('SELECT count(*) AS n FROM tag_volume')).toMatch(
      /^warning: Never read to the end, because reading fails: tags of "/,
    );
    expect(await warned('SELECT count(*) AS n FROM conversations')).toBe('');
  });

  test('prints numbers, booleans, instants and JSON as on SQLite, with every digit', async () => {
    const program = await onPostgres();
    await program.run('sync');
    const sql = `SELECT 9007199254740993 AS big, 2::bigint AS small, 1.50 AS fraction, avg(n) AS mean, 123456789012345678901234567890 AS huge, true AS yes,
      timestamptz '2026-03-02 10:00:00+02' AS at, timestamptz '0001-02-03 04:05:06.123999+00' AS early, '{"a": 12345678901234567890.5}'::jsonb AS json, NULL AS nothing, '\\x00ff'::bytea AS bytes,
      'NaN'::float8 AS nan FROM generate_series(1, 2) AS n`;
    const { stdout } = await program.run('query', sql, '--format', 'ndjson');
    expect(stdout.trim()).toBe(
      `{"big":"9007199254740993","small":2,"fraction":1.5,"mean":1.5,"huge":"123456789012345678901234567890","yes":true,` +
        `"at":"2026-03-02T08:00:00.000Z","early":"0001-02-03T04:05:06.123Z","json":{"a":12345678901234567890.5},"nothing":null,"bytes":"x'00ff'","nan":"NaN"}`,
    );
  });

  test('prints instants, bytes and numbers right even if the database is set to another style', async () => {
    const program = await onPostgres();
    const name = new URL(program.url).pathname.slice(1);
    await onServer(`ALTER DATABASE ${name} SET DateStyle = 'SQL, DMY'`);
    await onServer(`ALTER DATABASE ${name} SET bytea_output = 'escape'`);
    await onServer(`ALTER DATABASE ${name} SET extra_float_digits = -9`);
    expect((await program.run('sync')).exitCode).toBe(0);
    expect((await program.run('sync')).exitCode).toBe(0);
    const sql =
      `SELECT timestamptz '2026-03-02 08:00:00+00' AS at, '\\x00ff'::bytea AS bytes, ` +
      `1795249502.25::float8 AS seconds`;
    expect((await program.run('query', sql, '--format', 'ndjson')).stdout).toBe(
      `{"at":"2026-03-02T08:00:00.000Z","bytes":"x'00ff'","seconds":1795249502.25}\n`,
    );
    expect((await program.run('status')).stdout).toContain('fresh');
  });

  test('prints all rows of a large result, and a table only up to its limit', async () => {
    const program = await onPostgres();
    await program.run('sync');
    const { stdout } = await program.run(
      'query',
      'SELECT n FROM generate_series(1, 2500) AS n',
      '--format',
      'csv',
    );
    expect(stdout.trim().split('\n')).toEqual([
      'n',
      ...Array.from({ length: 2500 }, (_, index) => String(index + 1)),
    ]);
    expect((await program.run('query', 'SELECT n FROM generate_series(1, 20000) AS n')).stdout).toContain(
      '\n1000\n(the first 1,000 rows; ',
    );
  });

  test('refuses a statement that writes or is invalid with exit code 2 and changes nothing', async () => {
    const program = await onPostgres();
    await program.run('sync');
    // The server's operating-system user must be able to write there.
    const file = join(tmpdir(), `inbox-mirror-test-${new URL(program.url).pathname.slice(1)}`);
    for (const sql of [
      'DELETE FROM conversations',
      'WITH gone AS (DELETE FROM conversations RETURNING 1) SELECT * FROM gone',
      'SELECT 1; COMMIT; DELETE FROM conversations',
      'COMMIT; DELETE FROM conversations',
      'COMMIT',
      `SELECT set_config('transaction_read_only', 'off', false), set_config('default_transaction_read_only', 'off', false)`,
      `SET transaction_read_only = off`,
      `SELECT nextval('changes_id_seq')`,
      'COPY (SELECT 1) TO STDOUT',
      `COPY (SELECT 1) TO PROGRAM 'touch ${file}'`,
      'DROP TABLE conversations',
      'SELECT * FROM nowhere',
      'SELECT * FROM nowhere.at_all',
      'SELECT nowhere.now()',
      'SELECT 1 / 0',
      'selec',
    ]) {
      const { exitCode, stderr } = await program.run('query', sql);
      expect(stderr, sql).toMatch(
        /^error: (The mirror is read-only here|This statement returns no rows|The SQL cannot be run|There is more than one statement)/,
      );
      expect(exitCode).toBe(2);
    }
    expect(existsSync(file)).toBe(false);
    expect(
      (await program.run('query', 'SELECT count(*) AS n FROM conversations', '--format', 'ndjson')).stdout,
    ).toBe('{"n":12}\n');
  });

  test('points at the place of an error and suggests a near name, as on SQLite', async () => {
    const program = await onPostgres();
    await program.run('sync');
    const errorsOf = async (sql: string): Promise<string> => (await program.run('query', sql)).stderr;
    expect(await errorsOf(`SELECT '😀日本',\n\tstatsu FROM conversations`)).toBe(
      'error: The SQL cannot be run: column "statsu" does not exist.\n  line 2, column 2:\n   statsu FROM conversations\n   ^\n' +
        'Perhaps you meant to reference the column "conversations.status".\n',
    );
    expect(await errorsOf('SELECT * FROM conversation')).toBe(
      'error: The SQL cannot be run: relation "conversation" does not exist.\n  line 1, column 15:\n  SELECT * FROM conversation\n' +
        `${' '.repeat(16)}^\nPerhaps you meant "conversations".\n`,
    );
    expect(await errorsOf('SELECT 1; SELECT 2')).toContain('more than one statement');
    expect(await program.run('query', 'SELECT id FROM inboxes WHERE id = $1')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('The SQL cannot be run: bind'),
    });
    expect(await errorsOf('/* nothing */ ;')).toContain('only comments');
  });

  test('exits 1 at --timeout and 130 on Ctrl-C, and its statements end on the server', async () => {
    const program = await onPostgres();
    await program.run('sync');
    const name = new URL(program.url).pathname.slice(1);
    const endless = `SELECT count(*) AS ${name} FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b`;
    const [late, stopped, killed] = [
      startQuery(program.url, endless, '--timeout', '0.8s'),
      startQuery(program.url, endless),
      startQuery(program.url, endless),
    ];
    expect(await late.ended, late.errors()).toMatchObject({ by: 1 });
    expect(late.errors()).toMatch(/^error: The query was stopped: it took longer than 0.8s/);
    await waitUntil(async () => (await running(name)) >= 2);
    stopped.process.kill('SIGINT');
    killed.process.kill('SIGKILL');
    expect(await stopped.ended, stopped.errors()).toMatchObject({ by: 130 });
    await waitUntil(async () => (await running(name)) === 0);
  });
});

/** The number of sessions that run a statement with this name. */
async function running(name: string): Promise<number> {
  const client = new Client(postgresUrl('postgres'));
  await client.connect();
  try {
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1`,
      [`%AS ${name}%`],
    );
    return rows[0]?.n ?? 0;
  } finally {
    await client.end();
  }
}

/** The server checks only once a second whether its client is still connected. */
async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  await expect.poll(isSo, { interval: 100 }).toBe(true);
}
