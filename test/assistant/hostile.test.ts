import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { onlyReading } from '../../src/query/reads/guard.ts';
import { BIN, dataOf, startAssistant } from '../support/assistant.ts';
import { sized } from '../support/histories.ts';
import { temporaryFolder } from '../support/mirror.ts';
import { SECRET } from '../support/program.ts';
import { ON_SQLITE, urlOf } from '../support/provider.ts';
import { freshMirrorFile, quickMirror } from '../support/template.ts';
import { ENDLESS, hostile } from './statements.ts';

/** A call's limit, and what a busy machine may add to it, in ms. */
const LIMIT_MS = 1000;
const SLACK_MS = 8000;

/** The content of every table. */
async function contentOf(url: string): Promise<Map<string, string>> {
  const database = await openDatabase(url);
  const content = new Map<string, string>();
  for (const { name } of await database.query<{ name: string }>(database.dialect.tableNames))
    if (!name.startsWith('sqlite_'))
      content.set(name, JSON.stringify(await database.query(`SELECT * FROM "${name}"`)));
  await database.close();
  return content;
}

async function filledPlace(): Promise<string> {
  const place = await freshMirrorFile();
  const mirror = await quickMirror({ path: place, sandbox: { inboxes: 2, conversations: 20 } });
  await mirror.sync();
  return place;
}

test('hostile statements change nothing, read no file, show no key and end within the limits', async () => {
  const url = urlOf(await filledPlace());
  const folder = temporaryFolder();
  const targets = { secretFile: join(folder, 'secret.env'), newFile: join(folder, 'new') };
  writeFileSync(targets.secretFile, `INBOX_API_KEY=${SECRET}\n`, { mode: 0o644 });
  const before = await contentOf(url);
  const assistant = await startAssistant(url, '--timeout', `${LIMIT_MS / 1000}s`);
  const statements = fc.sample(hostile(targets), { numRuns: sized(200, 10_000), seed: 7 });
  let refused = 0;
  for (const sql of statements) {
    const began = performance.now();
    const { isError } = await assistant.ask('query', { sql });
    if (isError) refused += 1;
    expect(performance.now() - began, sql).toBeLessThan(LIMIT_MS + SLACK_MS);
  }
  // A few of them only look dangerous, such as a call inside a string.
  expect(refused / statements.length).toBeGreaterThan(0.9);
  if (!ON_SQLITE)
    expect(await assistant.ask('query', { sql: `SELECT ('port'::text).current_setting` })).toMatchObject({
      isError: true,
      text: expect.stringContaining('The name "current_setting" after a dot is refused') as string,
    });
  expect(await contentOf(url)).toEqual(before);
  expect(readdirSync(folder)).toEqual(['secret.env']);
  expect(dataOf(await assistant.ask('query', { sql: 'SELECT 1 AS one' }))).toEqual({
    columns: ['one'],
    rows: [[1]],
  });
}, 600_000);

test('endless and huge statements end within the limits, and the next question is answered', async () => {
  const url = urlOf(await freshMirrorFile());
  const assistant = await startAssistant(url, '--timeout', `${LIMIT_MS / 1000}s`);
  for (const sql of ENDLESS) {
    const began = performance.now();
    const { text } = await assistant.ask('query', { sql });
    expect(performance.now() - began, sql).toBeLessThan(LIMIT_MS + SLACK_MS);
    expect(text.length, sql).toBeLessThan(110_000);
    expect(text, sql).toMatch(
      /was stopped|A row of the answer has|These are the first 100 rows|too big|memory|exceed/,
    );
  }
  expect(dataOf(await assistant.ask('query', { sql: 'SELECT 1 AS one' }))).toEqual({
    columns: ['one'],
    rows: [[1]],
  });
});

test('usual statements pass the check of what only reads', () => {
  for (const sql of [
    'SELECT 1',
    " -- how many?\n(SELECT count(*) FILTER (WHERE status = 'open') FROM conversations)",
    `WITH RECURSIVE days(day, n) AS (SELECT '2026-03-01', 1 UNION ALL SELECT day, n + 1 FROM days WHERE n < 5)
     SELECT * FROM days`,
    `SELECT date_trunc('week', observed_at), count(DISTINCT item_id) FROM changes
     WHERE field IN ('status', 'tags') AND new_value LIKE '%$5 [pg_sleep(1)]\\%' GROUP BY 1`,
    'SELECT "limit", "left" FROM budget',
    'SELECT row_number() OVER (PARTITION BY inbox_id ORDER BY id), CAST(raw AS varchar(20)) FROM conversations',
    `SELECT raw ->> 'subject' FROM conversations WHERE EXISTS (SELECT 1 FROM inboxes) AND (1 = 1 OR NOT (2 = 2))`,
    `SELECT 'pg_upgrade', 'the sqlite_ tables' FROM conversations WHERE status IN ('a') AND (1 = 1)`,
    `SELECT CAST(count(*) AS numeric(10, 2)) FROM (VALUES (1), (2)) AS x`,
  ])
    expect(onlyReading(sql)).toBe(sql);
});

test.each([
  ['DELETE FROM conversations', 'A statement that begins with "DELETE"'],
  ['SELECT pg_sleep(1)', 'The name "pg_sleep"'],
  [`SELECT 'hr.salaries'::regclass`, 'The name "regclass"'],
  [`SELECT '{hr}'::_regrole`, 'The name "_regrole"'],
  [`SELECT 'hr=r/hr'::aclitem`, 'The name "aclitem"'],
  ['SELECT CAST(10 AS "regrole")', 'The name "\\"regrole\\""'],
  ['SELECT 1 FROM "pg_authid"', 'The name "\\"pg_authid\\""'],
  [`SELECT * FROM 'sqlite_master'`, `The name "'sqlite_master'"`],
  [`SELECT * FROM inboxes, 'PRAGMA_database_list'`, `The name "'PRAGMA_database_list'"`],
  [`SELECT * FROM 'dbstat'`, `The name "'dbstat'"`],
  [`SELECT * FROM 'json_each' ('[1]')`, `The function "'json_each'"`],
  ['SELECT zeroblob(9)', 'The function "zeroblob"'],
  ['SELECT "set_config"  (1)', 'The function "\\"set_config\\""'],
  [`SELECT E'\\'' || set_config(1) || ''`, 'A string with the prefix "E"'],
  [`SELECT U&"\\0070g_sleep"(1)`, 'A string with the prefix U&'],
  [`SELECT $$'$$, set_config(1), $$'$$`, 'The character $ outside of a string'],
  ['SELECT ARRAY[set_config(1)]', '"[set_config(1)]"'],
  ['SELECT 1 -- \r, set_config(1)', 'The function "set_config"'],
  ['SELECT 1\u0000', 'A control character'],
  ['SELECT €1.current_setting FROM t €1', 'The character "€" outside of a string'],
  ['SELECT \u00a01.f FROM t', 'The character "\u00a0" outside of a string'],
  ['SELECT 1x.current_setting', 'The number "1x.current_setting"'],
  [`SELECT x.'a'`, '"\'a\'" after a dot'],
  [`SELECT 1 AS a /*/* */ " */ , set_config(1) AS b -- "`, 'A comment inside a comment'],
])('the check refuses %s and says why', (sql, why) => {
  expect(() => onlyReading(sql)).toThrow(why);
});

/** Never ends, and the check lets it pass. */
const COUNTING = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`;

test('a call that the client cancels holds up no other call', async () => {
  const assistant = await startAssistant(urlOf(await freshMirrorFile()), '--timeout', '1min');
  const cancelled = new AbortController();
  const call = { name: 'query', arguments: { sql: COUNTING } };
  const endless = [1, 2, 3].map(() => assistant.client.callTool(call, { signal: cancelled.signal }));
  // One of them is under way.
  await setTimeout(500);
  cancelled.abort();
  for (const one of await Promise.allSettled(endless)) expect(one.status).toBe('rejected');
  expect(dataOf(await assistant.ask('query', { sql: 'SELECT 42 AS n' }))).toEqual({
    columns: ['n'],
    rows: [[42]],
  });
});

test('hundreds of first calls at once are all answered, more than a server has connections', async () => {
  const assistant = await startAssistant(urlOf(await freshMirrorFile()));
  const calls = Array.from({ length: 250 }, () => assistant.ask('tables', { name: 'backlog_now' }));
  const failed = (await Promise.all(calls)).filter(({ isError }) => isError);
  expect(failed.map(({ text }) => text)).toEqual([]);
});

test.runIf(ON_SQLITE)('a mirror that a backup replaces is read from the next call on', async () => {
  const place = await filledPlace();
  const assistant = await startAssistant(urlOf(place));
  const count = async (): Promise<unknown> =>
    dataOf(await assistant.ask('query', { sql: 'SELECT count(*) AS n FROM inboxes' }));
  expect(await count()).toEqual({ columns: ['n'], rows: [[2]] });
  for (const side of ['-wal', '-shm']) rmSync(place + side, { force: true });
  renameSync(await freshMirrorFile(), place);
  expect(await count()).toEqual({ columns: ['n'], rows: [[0]] });
});

test.runIf(ON_SQLITE)('a line that is too long ends the server with an error', async () => {
  const env = { ...process.env, DATABASE_URL: urlOf(await freshMirrorFile()), INBOX_API_KEY: SECRET };
  const server = spawn(process.execPath, [BIN, 'mcp'], { env, stdio: 'pipe' });
  let errors = '';
  server.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  server.stdin.on('error', () => undefined);
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '0' },
  };
  const call = { name: 'query', arguments: { sql: 'SELECT 1' } };
  for (const [id, method, of] of [
    [1, 'initialize', params],
    [2, 'tools/call', call],
  ] as const)
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: of })}\n`);
  // The process of the reader is there now.
  for (let lines = ''; !lines.includes('"id":2');) lines += String((await once(server.stdout, 'data'))[0]);
  server.stdin.write('x'.repeat(12 * 1024 * 1024));
  await once(server, 'close');
  expect(errors).toContain('exceeded maximum size');
});
