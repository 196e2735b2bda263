import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import SqliteDatabase from 'better-sqlite3';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addCommands } from '../../src/cli/program.ts';
import { outlineOf } from '../../src/cli/reference/outline.ts';
import { HOUR, MINUTE } from '../../src/core/clock.ts';
import { VIEW_NAMES } from '../../src/database/catalogue.ts';
import { iso } from '../../src/database/instants.ts';
import { mirrorFile, newProgram, SECRET, tamper, testProgram } from '../support/program.ts';
import { parseLines } from '../support/rows.ts';
import { renderOnTerminal } from '../support/terminal.ts';

const SMALL = { conversations: [230, 40], usersPerInbox: 3, tagsPerInbox: 4 };
/** Requests for one page of inboxes, then for users, tags and conversations of two inboxes. */
const SMALL_REQUESTS = 1 + 2 + 2 + 3 + 1;

test.each([
  ['command', ['\u001B]0;title\u0007sync']],
  ['option', ['sync', '--\u001B[2Jjson']],
  ['option of the program', ['--\u001B[2Jjson']],
  ['value', ['changes', '--list', '\u001B[8mtags\u202E']],
  ['argument', ['sync', '\u009B2Jtags']],
])('an unknown %s is repeated without the controls in it', async (_what, argv) => {
  const program = await testProgram();
  const { exitCode, stderr } = await program.run(...argv);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('\uFFFD');
  // oxlint-disable-next-line no-control-regex
  expect(stderr).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
});

test('--help names every command, and an unknown command or list exits 2', async () => {
  const program = await testProgram();
  const help = await program.run('--help');
  expect(help.exitCode).toBe(0);
  const [, commands = ''] = /\nCommands:\n((?: .*\n)+)/.exec(help.stdout) ?? [];
  expect(Array.from(commands.matchAll(/^ {2}(\w+)/gm), ([, name]) => name)).toEqual([
    'start',
    'sync',
    'resync',
    'status',
    'plan',
    'query',
    'tables',
    'changes',
    'export',
    'mcp',
    'init',
    'doctor',
    'lookup',
    'sandbox',
    'demo',
    'completion',
    'help',
  ]);
  expect(await program.run('syncc')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('sync') as string,
  });
  expect(await program.run('sync', 'convos')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('The lists are: inboxes, users, tags, conversations') as string,
  });
});

test('no line of any help is wider than 80 columns', async () => {
  const program = await testProgram();
  const commands = outlineOf(addCommands(new Command(), () => Promise.resolve()));
  for (const args of [['--help'], ...commands.map(({ name }) => ['help', ...name.split(' ')])]) {
    const { stdout } = await program.run(...args);
    expect(stdout).toContain('Usage:');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  }
});

test('sync mirrors every list and prints its cost, and query reads the rows in every format', async () => {
  const program = await newProgram(SMALL);
  const sync = await program.run('sync');
  expect(sync.exitCode).toBe(0);
  expect(sync.stderr).toContain(`7 of 7 lists complete: ${SMALL_REQUESTS} requests`);
  // A pipe gets the table alone: its titles and a line for each list.
  expect(sync.stdout.match(/^inbox +list .*\n(?:.+\n){7}$/)).not.toBeNull();
  expect(program.sandbox.arrivals).toHaveLength(SMALL_REQUESTS);

  const count = 'SELECT count(*) AS n FROM conversations';
  expect((await program.run('query', count)).stdout).toBe('  n\n270\n(1 row)\n');
  expect(JSON.parse((await program.run('query', count, '--format', 'json')).stdout)).toEqual([{ n: 270 }]);
  const tags = 'SELECT name, color_code, deleted_at FROM inbox_tags ORDER BY name LIMIT 2';
  const { stdout: lines } = await program.run('query', tags, '--format', 'ndjson');
  expect(parseLines(lines)).toEqual(
    JSON.parse((await program.run('query', tags, '--format', 'json')).stdout),
  );
  expect(
    (await program.run('query', "SELECT 'a,\"b\"' AS x, NULL AS y, 1 AS z, '' AS empty", '--format', 'csv'))
      .stdout,
  ).toBe('x,y,z,empty\n"a,""b""",,1,""\n');
  expect(
    JSON.parse(
      (await program.run('query', 'SELECT is_authorised FROM inboxes LIMIT 1', '--format', 'json')).stdout,
    ),
  ).toEqual([{ is_authorised: true }]);
  expect((await program.run('query', 'SELECT 1 WHERE 0', '--format', 'json')).stdout).toBe('[]\n');
  expect(
    (await program.run('query', 'SELECT 9e999 AS n, 1 AS "2026", 2 AS "2025"', '--format', 'ndjson')).stdout,
  ).toBe('{"n":"Infinity","2026":1,"2025":2}\n');
});

test('query refuses to write and reports an SQL error', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync', 'inboxes');
  for (const sql of [
    'DELETE FROM inboxes',
    'DELETE FROM inboxes RETURNING id',
    'PRAGMA user_version = 7',
    'DROP TABLE changes',
    "ATTACH 'x.db' AS x",
  ]) {
    expect(await program.run('query', sql), sql).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('read-only') as string,
    });
  }
  expect(await program.run('query', 'SELEKT 1')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('near "SELEKT"') as string,
  });
  expect(
    readdirSync(program.folder)
      .sort()
      .filter((name) => !name.startsWith('mirror.db')),
  ).toEqual([]);
});

test('query refuses two JSON fields of one name and prints all rows as CSV', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync', 'inboxes');
  const twice = 'SELECT 1 AS a, 2 AS a';
  expect(await program.run('query', twice, '--format', 'json')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('named "a"') as string,
  });
  expect((await program.run('query', twice, '--format', 'csv')).stdout).toBe('a,a\n1,2\n');
  const many = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000) SELECT x FROM c';
  expect((await program.run('query', many, '--format', 'csv')).stdout.split('\n')).toHaveLength(200_002);
});

test('query and status without a mirror exit 2 and name the command that makes one', async () => {
  const program = await newProgram();
  for (const argv of [['query', 'SELECT 1'], ['status']]) {
    expect(await program.run(...argv)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(
        'Run `npx inbox-mirror sync` to create it (before that `npx inbox-mirror init`',
      ) as string,
    });
  }
  expect(readdirSync(program.folder)).toEqual([]);
});

test('without a terminal, sync tries a refused key once an hour, and another key at once', async () => {
  const program = await newProgram(SMALL, { INBOX_API_KEY: 'wrong-key' });
  const refusals = async (...argv: string[]): Promise<number> => {
    expect(await program.run(...argv)).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining(
        'or run `npx inbox-mirror doctor` once this one is valid again',
      ) as string,
    });
    return program.sandbox.arrivals.length;
  };
  const refusedBefore = (ms: number): void =>
    tamper(
      program,
      `UPDATE leases SET acquired_at = '${iso(Date.now() - ms)}', expires_at = '${iso(Date.now() - ms + HOUR)}'`,
    );

  expect(await refusals('sync')).toBe(1);
  expect((await program.run('status', '--json')).stdout).toContain('"state": "key-refused"');
  expect(await refusals('sync')).toBe(1);
  expect(await refusals('lookup', 'user', '--inbox', '1', '--email', 'a@example.com')).toBe(1);
  refusedBefore(59 * MINUTE);
  expect(await refusals('sync')).toBe(1);
  refusedBefore(61 * MINUTE);
  expect(await refusals('sync')).toBe(2);
  expect((await program.run('doctor')).exitCode).toBe(3);
  expect(program.sandbox.arrivals).toHaveLength(3);

  program.env['INBOX_API_KEY'] = SECRET;
  expect((await program.run('sync')).exitCode).toBe(0);
  expect(await program.run('status')).toMatchObject({ exitCode: 0 });
});

test('without a terminal, sync tries a refused key once an hour beside other keys, refused or not', async () => {
  const program = await newProgram(SMALL, { INBOX_API_KEY: SECRET });
  const runs = async (...keys: string[]): Promise<void> => {
    for (const key of keys) {
      program.env['INBOX_API_KEY'] = key;
      const ran = await program.run('sync', 'inboxes');
      expect(ran.exitCode, ran.stderr).toBe(key === SECRET ? 0 : 3);
    }
  };
  const refusals = (): number => program.sandbox.arrivals.filter(({ status }) => status === 401).length;
  await runs(SECRET, 'old-key', SECRET, 'old-key', 'older-key', 'old-key', 'older-key', SECRET, 'old-key');
  expect(refusals(), 'each refused key was sent once').toBe(2);
  expect(await program.run('sync', 'inboxes')).toMatchObject({
    stderr: expect.stringMatching(/refused the API key \(on \S+ at 20\d\d-\S+Z\)/) as string,
  });
  expect((await program.run('doctor')).exitCode).toBe(3);
  expect(refusals(), 'a person tries it at once').toBe(3);
  await runs('old-key', SECRET);
  expect(refusals()).toBe(3);
});

test('sync exits 4 when the day budget is spent, prints when it can resume, and resumes then', async () => {
  const program = await testProgram(SMALL, { REQUESTS_PER_DAY: '5', REQUESTS_RESERVED: '0' });
  const first = await program.run('sync');
  expect(first.exitCode).toBe(4);
  expect(first.stderr).toMatch(/The day's budget is spent: 5 requests.*at 20\d\d-\S+Z, in (23 h|1 d)/);
  expect(program.sandbox.arrivals).toHaveLength(5);
  expect(await program.run('sync'), 'not one request more').toMatchObject({ exitCode: 4 });
  expect(program.sandbox.arrivals).toHaveLength(5);
  tamper(program, `UPDATE requests SET sent_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', sent_at, '-25 hours')`);
  expect((await program.run('sync')).exitCode).toBe(0);
  expect(program.sandbox.arrivals, 'no page was read twice').toHaveLength(SMALL_REQUESTS);
});

test('a sync that a pause stops again counts the lists that were complete before', async () => {
  const program = await testProgram({ inboxes: 12, conversations: 3 });
  let asked = 0;
  program.sandbox.script(({ path }) => {
    if (!path.includes('/20117/users')) return undefined;
    asked += 1;
    // While the first failure is waited out, most other lists complete.
    return asked === 1 ? { status: 500 } : { status: 429, headers: { 'retry-after': '3600' } };
  });
  const counted = async (): Promise<string | undefined> =>
    /(\d+) lists? complete, and every page/.exec((await program.run('sync')).stderr)?.[1];
  const before = await counted();
  const mirror = new SqliteDatabase(mirrorFile(program), { readonly: true });
  const lists = mirror.prepare(`SELECT count(*) FROM sweeps WHERE state = 'complete'`).pluck().get();
  mirror.close();
  expect(lists).toBeGreaterThan(0);
  expect(before).toBe(String(lists));
  expect(await counted()).toBe(before);
});

test('on a terminal sync names the list that it asks again, tells the time of day, and prints no JSON', async () => {
  const program = await testProgram(SMALL, { REQUESTS_PER_DAY: '6', REQUESTS_RESERVED: '0' });
  let refused = false;
  program.sandbox.script(({ path }) => {
    if (refused || !path.includes('/users')) return undefined;
    refused = true;
    return { status: 500, body: '{}' };
  });
  const shown = await renderOnTerminal(program, 80, 'sync');
  const words = shown.replaceAll(/\s+/g, ' ');
  expect(words).toMatch(
    /users of Support \(20117\): request failed; retrying \(attempt 1 failed, next attempt in/,
  );
  expect(words).toMatch(/leave at (tomorrow )?\d\d:\d\d UTC, in/);
  expect(shown).not.toMatch(/[{}]|\d{4}-\d\d-\d\dT/);
});

test('Ctrl-C stops sync between pages with exit code 130; the next run reads only the rest', async () => {
  const program = await testProgram(SMALL);
  const stopped = await program.runUntil(() => program.sandbox.arrivals.length === 4, 'sync');
  expect(stopped).toMatchObject({
    exitCode: 130,
    stderr: expect.stringContaining('Run the same command again to resume.') as string,
  });
  expect(program.sandbox.arrivals.length).toBeLessThan(SMALL_REQUESTS);
  const rest = await program.run('sync');
  expect(rest).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('resuming an interrupted pass') as string,
  });
  expect(program.sandbox.arrivals).toHaveLength(SMALL_REQUESTS);
});

test('sync exits 1 for a failed list, names the cause and completes the other lists', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync');
  program.sandbox.script(({ path }) =>
    path.includes('/tags') ? { status: 404, body: '{"errors":[{"message":"no tags here"}]}' } : undefined,
  );
  const failed = await program.run('sync');
  expect(failed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no tags here') as string });
  expect(failed.stderr).toContain('5 of 7 lists complete');
  expect((await program.run('status')).exitCode).toBe(5);
});

test('a full sync ends an interrupted narrower sync, whose next run reads every page again', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync');
  const before = program.sandbox.arrivals.length;
  await program.runUntil(() => program.sandbox.arrivals.length === before + 1, 'sync', 'conversations');
  expect((await program.run('status')).stdout).toContain('inbox-mirror sync conversations, started');
  expect((await program.run('sync')).exitCode).toBe(0);
  expect((await program.run('status')).stdout).not.toContain('sync conversations');
  const sent = program.sandbox.arrivals.length;
  expect((await program.run('sync', 'conversations')).exitCode).toBe(0);
  expect(program.sandbox.arrivals.length - sent, 'pages of both inboxes').toBe(4);
});

test('status prints lists, budget and gate, and exits 0 if all is fresh, 5 if a list is stale', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync');
  const fresh = await program.run('status', '--all');
  expect(fresh.exitCode).toBe(0);
  expect(fresh.stdout).toMatch(/Support \(\d+\) +conversations +(just now|\d+ s ago) +230 +fresh/);
  expect(fresh.stdout).toContain(`${SMALL_REQUESTS} of 5,000 requests`);
  expect(fresh.stdout).toContain('requests flowing');
  const viewed = async () =>
    (
      await program.run(
        'query',
        'SELECT DISTINCT list, state FROM freshness ORDER BY list',
        '--format',
        'csv',
      )
    ).stdout;
  expect(await viewed()).toBe('list,state\nconversations,fresh\ninboxes,fresh\ntags,fresh\nusers,fresh\n');
  tamper(program, `UPDATE sweeps SET finished_at = '2020-01-01T00:00:00.000+00:00' WHERE list = 'tags'`);
  expect(await viewed()).toContain('tags,stale\n');
  const stale = await program.run('status', '--json');
  expect(stale.exitCode).toBe(5);
  const { healthy, lists, budget, gate, lease } = JSON.parse(stale.stdout) as Record<string, unknown> & {
    lists: { list: string; state: string }[];
  };
  expect({ healthy, gate, lease }).toMatchObject({ healthy: false, gate: { state: 'open' }, lease: null });
  expect(budget).toMatchObject({
    limit: 5000,
    reserved: 250,
    sent: SMALL_REQUESTS,
    left: 5000 - SMALL_REQUESTS,
  });
  expect(lists.filter(({ state }) => state === 'stale').map(({ list }) => list)).toEqual(['tags', 'tags']);
});

test('resync --dry-run prints a forecast and sends no request; resync reads every page', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync');
  const dry = await program.run('resync', '--dry-run', '--json');
  expect(JSON.parse(dry.stdout)).toMatchObject({
    requests: SMALL_REQUESTS,
    complete: true,
    sent_today: SMALL_REQUESTS,
  });
  expect((await program.run('resync', '--dry-run')).stdout).toContain(
    `costs ${SMALL_REQUESTS} requests: 0.2 % of the day's 5,000`,
  );
  expect((await program.run('resync', 'inboxes', '--dry-run')).stdout).toContain(
    "costs 1 request: under 0.1 % of the day's 5,000",
  );
  expect(program.sandbox.arrivals).toHaveLength(SMALL_REQUESTS);
  expect((await program.run('resync')).exitCode).toBe(0);
  expect(program.sandbox.arrivals).toHaveLength(2 * SMALL_REQUESTS);
});

test('resync --dry-run counts in the wait while no request may leave', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync');
  program.sandbox.script(() => ({ status: 503, headers: { 'retry-after': '3600' } }));
  for (const list of ['inboxes', 'users']) await program.run('sync', list);
  const dry = await program.run('resync', '--dry-run');
  expect(dry.stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /Requests are stopped until .*, in (1 h|59 min.*), because the service asked to wait: the resync begins after/,
  );
  const { ends_at: endsAt } = JSON.parse((await program.run('resync', '--dry-run', '--json')).stdout) as {
    ends_at: string;
  };
  expect(Date.parse(endsAt) - Date.now()).toBeGreaterThan(50 * 60_000);
});

test('sync of one list of one inbox reads only that list, and an unknown inbox exits 2', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync');
  const [inbox] = program.sandbox.world.inboxes.keys();
  expect((await program.run('sync', 'tags', '--inbox', inbox ?? '')).exitCode).toBe(0);
  expect(program.sandbox.arrivals.slice(SMALL_REQUESTS).map(({ path }) => path)).toEqual([
    `/v1/inboxes/${inbox}/tags?limit=100`,
  ]);
  expect(await program.run('resync', '--inbox', '999', '--dry-run')).toMatchObject({ exitCode: 2 });
  const unknown = await program.run('sync', '--inbox', '999');
  expect(unknown).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('no inbox 999') as string });
});

test('lookup shows an instant on a terminal as a table of query does', async () => {
  const program = await testProgram(SMALL);
  const [inbox] = program.sandbox.world.inboxes.values();
  const [tag] = inbox?.tags.values() ?? [];
  const lookup = ['lookup', 'tag', '--inbox', inbox?.id ?? '', '--name', tag?.name ?? ''];
  const shown = await renderOnTerminal(program, 100, ...lookup);
  expect(shown).toMatch(/ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/m);
  expect(shown).toContain('(1 tag; times in UTC)\n');
  expect((await program.run(...lookup)).stdout).toMatch(/T\d\d:\d\d:\d\d\.\d{3}Z\n\(1 tag\)\n$/);
});

test('lookup finds a user by e-mail and a tag by name', async () => {
  const program = await testProgram(SMALL);
  const [inbox] = program.sandbox.world.inboxes.values();
  const [user] = inbox?.users.values() ?? [];
  const [tag] = inbox?.tags.values() ?? [];
  if (inbox === undefined || user === undefined || tag === undefined) throw new Error('the sandbox is empty');
  const found = await program.run('lookup', 'user', '--inbox', inbox.id, '--email', user.email, '--json');
  expect(JSON.parse(found.stdout)).toMatchObject([{ id: user.id, email: user.email }]);
  expect((await program.run('lookup', 'tag', '--inbox', inbox.id, '--name', tag.name)).stdout).toContain(
    tag.id,
  );
  expect(
    (await program.run('lookup', 'user', '--inbox', inbox.id, '--email', 'nobody@example.com')).stdout,
  ).toBe('(0 users)\n');
  program.sandbox.script(() => ({
    status: 200,
    body: '{"results":[{"name":"no id"}],"pagination":{"next_page":null}}',
  }));
  expect(await program.run('lookup', 'tag', '--inbox', inbox.id, '--name', 'no id')).toMatchObject({
    exitCode: 0,
    stdout: '(0 tags)\n',
    stderr: expect.stringContaining('or unreadable rows') as string,
  });
  program.sandbox.script(undefined);
  expect(await program.run('lookup', 'user', '--inbox', '999', '--email', 'a@b.c')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('404') as string,
  });
});

test('doctor without a mirror checks the rest, and creates nothing', async () => {
  const program = await newProgram(SMALL);
  const { exitCode, stdout } = await program.run('doctor');
  expect(exitCode).toBe(0);
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    new RegExp(
      `ok database no mirror yet: .* creates .*mirror\\.db with \\d+ tables and ${VIEW_NAMES.length} views`,
    ),
  );
  expect(stdout.trimEnd().split('\n').at(-1)).toBe('All checks passed.');
  expect(stdout).toMatch(/ok +service/);
  expect(program.sandbox.arrivals).toHaveLength(1);
  expect(readdirSync(program.folder)).toEqual([]);

  program.env['DATABASE_URL'] = 'file:no-such-folder/mirror.db';
  const astray = await program.run('doctor');
  expect(astray.exitCode).toBe(1);
  expect(astray.stdout).toMatch(/failed +database/);
  expect(astray.stdout).toContain('\n1 check failed. The checks after "database" were skipped.\n');
  expect(readdirSync(program.folder)).toEqual([]);
});

test('doctor runs every check with one request, and --reset-gate ends a pause of the gate', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync');
  const sent = program.sandbox.arrivals.length;
  const healthy = await program.run('doctor', '--json');
  expect(healthy.exitCode).toBe(0);
  const { checks } = JSON.parse(healthy.stdout) as { checks: { name: string; verdict: string }[] };
  expect(checks.map(({ name, verdict }) => `${name} ${verdict}`)).toEqual([
    'configuration ok',
    'database ok',
    'readers ok',
    'gate ok',
    'budget ok',
    'service ok',
    'clock ok',
    'account ok',
  ]);
  expect(program.sandbox.arrivals.length - sent).toBe(1);
  tamper(
    program,
    `UPDATE gate_state SET strikes = 3, paused_at = '2020-01-01T00:00:00.000+00:00', paused_until = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', '+10 minutes'), cause = '429'`,
  );
  const paused = await program.run('doctor');
  expect(paused).toMatchObject({
    exitCode: 4,
    stdout: expect.stringContaining('--reset-gate') as string,
  });
  expect(paused.stdout).toMatch(
    /^skipped +service +not asked: no request is sent until \S+\n\n1 warning\.$/m,
  );
  expect((await program.run('doctor', '--reset-gate')).exitCode).toBe(0);
  expect((await program.run('sync')).exitCode).toBe(0);
});

test('doctor --reset-gate says how many lists can be asked for again, and the next sync asks', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync');
  program.sandbox.script(({ path }) =>
    path.includes('/users?') ? { status: 503, headers: { 'retry-after': '3600' } } : undefined,
  );
  expect(await program.run('sync')).toMatchObject({ exitCode: 4 });
  program.sandbox.script(undefined);
  const waiting = await program.run('sync');
  expect(waiting).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('asks to wait') as string });
  expect((await program.run('doctor', '--reset-gate')).stdout).toMatch(
    /gate +was open already; 2 lists can be asked for again/,
  );
  expect((await program.run('sync')).exitCode).toBe(0);
});

test('doctor exits 4 and names the cause when the service is out of reach', async () => {
  const program = await testProgram(SMALL, { INBOX_API_URL: 'http://127.0.0.1:1/v1' });
  const dead = program.run('doctor');
  expect(await dead).toMatchObject({
    exitCode: 4,
    stdout: expect.stringContaining('ECONNREFUSED') as string,
  });
});

test('sync exits 4 when a 429 asks it to wait for hours, and the next run sends no request', async () => {
  const program = await testProgram(SMALL);
  program.sandbox.script(() => ({ status: 429, headers: { 'retry-after': '7200' } }));
  const first = await program.run('sync');
  expect(first).toMatchObject({
    exitCode: 4,
    stderr: expect.stringMatching(/No request is sent until \S+ \(for 2 h\)/) as string,
  });
  program.sandbox.script(undefined);
  expect((await program.run('sync')).exitCode).toBe(4);
  expect(program.sandbox.arrivals).toHaveLength(1);
  expect((await program.run('status')).stdout).toMatch(
    /^requests stopped until .*, in 2 h, after 1 answer of HTTP 429 /m,
  );
});

test('eight syncs in an hour of 503s that ask to wait for it send two requests, and say until when', async () => {
  const program = await testProgram(SMALL);
  await program.run('sync');
  const before = program.sandbox.arrivals.length;
  const body = JSON.stringify({ Message: 'Maintenance until noon' });
  program.sandbox.script(() => ({ status: 503, headers: { 'retry-after': '3600' }, body }));
  const runs = [];
  for (let times = 0; times < 8; times += 1) runs.push(await program.run('sync'));
  expect(runs.map(({ exitCode }) => exitCode)).toEqual(Array.from({ length: 8 }, () => 4));
  expect(program.sandbox.arrivals.length - before).toBe(2);
  expect(runs[7]?.stderr).toMatch(
    /No request is sent until \S+ \(for [^)]+\): the service failed \(HTTP 503: Maintenance until noon\)/,
  );
  expect((await program.run('status')).stdout).toMatch(
    /^requests stopped until .*, in .*, because the service asked to wait .*Maintenance until noon/m,
  );
});

test('sync reads the other lists when one answers 503 and asks to wait for hours', async () => {
  const program = await testProgram({ ...SMALL, conversations: [25, 15] });
  await program.run('sync');
  const [id] = program.sandbox.arrivals.flatMap(
    ({ path }) => /^\/v1\/inboxes\/(\d+)\/users/.exec(path)?.[1] ?? [],
  );
  const body = JSON.stringify({ Message: 'Maintenance until noon' });
  program.sandbox.script(({ path }) =>
    path.startsWith(`/v1/inboxes/${id}/users`)
      ? { status: 503, headers: { 'retry-after': '36000' }, body }
      : undefined,
  );
  for (let times = 0; times < 3; times += 1) {
    const from = program.sandbox.arrivals.length;
    const { exitCode, stderr } = await program.run('sync');
    expect([exitCode, /asks to wait until/.test(stderr)]).toEqual([4, true]);
    const read = program.sandbox.arrivals.slice(from).map(({ path, status }) => `${status} ${path}`);
    if (times === 0) expect(read.filter((line) => line.startsWith('200')).length).toBeGreaterThanOrEqual(6);
  }
  expect((await program.run('status')).stdout).not.toContain('requests stopped');
  const resync = await program.run('resync');
  expect([resync.exitCode, /Run the same command again within 20 hours/.test(resync.stderr)]).toEqual([
    4,
    true,
  ]);
  const from = program.sandbox.arrivals.length;
  expect((await program.run('resync')).stdout).toContain('already complete');
  expect(program.sandbox.arrivals).toHaveLength(from);
});

test('no file of the mirror contains the key', async () => {
  const program = await newProgram(SMALL);
  await program.run('sync');
  for (const name of readdirSync(program.folder))
    expect(readFileSync(join(program.folder, name)).includes(SECRET), name).toBe(false);
});

test('demo mirrors, queries, changes, syncs again and keeps its file, in under 20 seconds', async () => {
  const program = await newProgram();
  for (const name of Object.keys(program.env)) delete program.env[name];
  const startedAt = performance.now();
  const { exitCode, stdout } = await program.run('demo');
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  expect(exitCode).toBe(0);
  expect(stdout).toContain('Who has the most open work?');
  expect(stdout).toMatch(/Support \(\d+\) +conversation \d+ +presence +is gone from the service/);
  expect(stdout, 'people have names').toMatch(/assignee_id +\w[\w' ]+ \(\d+\) → /);
  expect(stdout).toMatch(
    /first seen, gone, or\nback\. Several events [^]* one row, or none\.\n\n4\. Next steps/,
  );
  expect(stdout).not.toContain('\n\n\n');
  expect(readdirSync(program.folder)).toContain('demo.db');
  expect((await program.run('demo')).exitCode, 'a second demo overwrites the file of the first').toBe(0);
});

test('demo overwrites no database that is not from a demo', async () => {
  const program = await newProgram(SMALL);
  await program.run('sync');
  expect(await program.run('demo', '--database', 'mirror.db')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('does not overwrite it') as string,
  });
  expect(
    (await program.run('query', 'SELECT count(*) AS n FROM conversations', '--format', 'csv')).stdout,
  ).toBe('n\n270\n');
});

test.each(['start', 'sync', 'status'])(
  '%s exits 2 for a file that is no database or is another program’s, because a restart does not help',
  async (command) => {
    const program = await testProgram();
    writeFileSync(
      mirrorFile(program),
      'This is no database, but long enough to be taken for one by its length alone. '.repeat(20),
    );
    expect(await program.run(command)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('is not an SQLite database') as string,
    });
    rmSync(mirrorFile(program));
    new SqliteDatabase(mirrorFile(program)).exec('CREATE TABLE customers (id integer)').close();
    expect(await program.run(command)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('another program’s tables') as string,
    });
  },
);

test('sync exits 1 and names a folder that does not exist', async () => {
  const program = await testProgram();
  program.env['DATABASE_URL'] = 'file:nowhere/mirror.db';
  expect(await program.run('sync')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('nowhere') as string,
  });
});

test('the launcher exits 2 and reports a Node.js that is too old', async () => {
  const launcher = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');
  const asOld = `Object.defineProperty(process, 'versions', { value: { node: '18.19.1' } }); require(${JSON.stringify(launcher)})`;
  await expect(promisify(execFile)(process.execPath, ['-e', asOld])).rejects.toMatchObject({
    code: 2,
    stderr:
      'inbox-mirror needs Node.js 22.18 or newer, but this is 18.19.1. Install a newer one from https://nodejs.org.\n',
  });
});

test('a query off a terminal does not load the tables of emoji', async () => {
  const program = await testProgram();
  const plant = join(program.folder, 'plant.cjs');
  // The library of the tables makes a Segmenter as it is loaded.
  writeFileSync(
    plant,
    `Intl.Segmenter = class extends Intl.Segmenter { constructor() { super(); console.error('loaded'); } };`,
  );
  const launcher = join(import.meta.dirname, '../../bin/inbox-mirror.cjs');
  const asked = async (text: string): Promise<string> => {
    const words = ['--require', plant, launcher, 'query', `SELECT '${text}' AS text`];
    const env = { ...program.env, PATH: process.env['PATH'] };
    return (await promisify(execFile)(process.execPath, words, { cwd: program.folder, env })).stderr;
  };
  expect(await asked('naïve …')).not.toContain('loaded');
  expect(await asked('中')).toContain('loaded');
});
