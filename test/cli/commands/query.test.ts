import { once } from 'node:events';
import Sqlite from 'better-sqlite3';
import { beforeEach, describe, expect, test } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { excerptOf } from '../../../src/query/excerpt.ts';
import { mirrorFile, testProgram, type TestProgram } from '../../support/program.ts';
import { firstInbox } from '../../support/rows.ts';
import { startQuery } from '../../support/query-process.ts';
import { renderOnTerminal } from '../../support/terminal.ts';

/** Runs longer than any test waits and yields no row before it ends. */
const ENDLESS = 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c';
const MANY = `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n, 'a text that is long enough to fill pipes' AS t FROM c`;

let program: TestProgram;
let url: string;
beforeEach(async () => {
  program = await testProgram();
  url = `file:${mirrorFile(program)}`;
  await (await openDatabase(url)).close();
});

/** The SQL line that an error prints, with a mark at its caret. */
async function marked(sql: string): Promise<string | null> {
  const { exitCode, stderr } = await program.run('query', sql);
  expect(exitCode, stderr).toBe(2);
  const [, , line = '', caret = ''] = stderr.split('\n');
  return caret.trim() === '^' ? `${line.slice(2, caret.length - 1)}»${line.slice(caret.length - 1)}` : null;
}

test.each([
  ['PRAGMA journal_mode = DELETE', 'alone'],
  ['PRAGMA journal_mode = DELETE', 'beside a writer'],
  ['PRAGMA wal_checkpoint(TRUNCATE)', 'beside a writer'],
])('query refuses %s as it refuses every other write (%s)', async (sql, beside) => {
  const writer = new Sqlite(mirrorFile(program));
  writer.exec('CREATE TABLE notes (id)');
  if (beside === 'alone') writer.close();
  expect(await program.run('query', sql)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('The mirror is read-only here') as string,
  });
  writer.close();
});

describe('an SQL error', () => {
  test('points at the first fault, not at the first occurrence of the name', async () => {
    for (const sql of [
      'SELECT * »FORM conversations',
      `SELECT 'FORM' AS f /* FORM */ »FORM conversations`,
      'SELECT id, »FROM conversations WHERE id IN (SELECT id FROM conversations)',
      'SELECT id FROM conversations WHERE id IN (SELECT id, »FROM inboxes)',
      'SELECT »statsu FROM conversations',
      'SELECT (SELECT status FROM conversations) FROM inboxes WHERE »status = 1',
      'SELECT id FROM conversations AS c WHERE »c.statsu = 1',
      'SELECT »status FROM (SELECT status AS s FROM conversations)',
      'SELECT 1 AS nope FROM conversations WHERE »nope2 = 1 AND nope2 = 2',
      'SELECT »id FROM conversations AS c, inboxes AS i',
      'SELECT conversation.id FROM »conversation',
      'SELECT foo, »foo(1) FROM (SELECT 1 AS foo)',
      `SELECT »'abc`,
      'SELECT (1 +»',
    ])
      expect(await marked(sql.replace('»', ''))).toBe(sql);
  });

  test('names line and column, and cuts a long line around the fault', async () => {
    const { stderr } = await program.run('query', `SELECT 1,\n\t'日本😀', statsu\nFROM conversations`);
    expect(stderr).toBe(
      `error: The SQL cannot be run: no such column: statsu.\n  line 2, column 9:\n   '日本😀', statsu\n${' '.repeat(13)}^\nPerhaps you meant "status".\n`,
    );
    const [, line = '', caret = ''] = excerptOf(
      `SELECT ${'a, '.repeat(99)}HERE${', b'.repeat(99)}`,
      7 + 3 * 99,
    ).split('\n');
    expect(line.length).toBeLessThanOrEqual(78);
    expect(line).toMatch(/^ {2}….*…$/);
    expect(line.slice(caret.indexOf('^'))).toMatch(/^HERE/);
  });

  test('adds no full stop to a message that ends as a question', async () => {
    const { stderr } = await program.run('query', 'SELECT "open" FROM inboxes');
    expect(stderr).toMatch(/should this be a string literal in single-quotes\?\n {2}line 1/);
  });

  test('suggests the nearest name, else the columns of the table, else the tables command', async () => {
    const hint = async (sql: string): Promise<string | undefined> =>
      (await program.run('query', sql)).stderr.trim().split('\n').at(-1);
    expect(await hint('SELECT * FROM conversation')).toBe('Perhaps you meant "conversations".');
    expect(await hint('SELECT asignee_id FROM conversations')).toBe('Perhaps you meant "assignee_id".');
    expect(await hint('SELECT conversation_id FROM conversations')).toMatch(
      /^conversations has "id"; "conversation_id" is in .*conversation_tags/,
    );
    expect(await hint('SELECT tag FROM conversations')).toMatch(/^"tag" is in tag_daily, tag_volume/);
    expect(await hint(`SELECT id FROM conversations WHERE status = "open"`)).toBe(
      "A text has single quotes: 'open'.",
    );
    expect(await hint('SELECT name FROM inboxes')).toMatch(/^inboxes has "display_name"; /);
    expect(await hint('SELECT * FROM tags')).toContain('"inbox_tags"');
    expect(await hint('SELECT subject FROM assignments')).toMatch(/^assignments has the columns inbox_id, /);
    expect(await hint('SELECT * FROM something_else')).toBe(
      'See `npx inbox-mirror tables` for the tables and their columns.',
    );
  });

  test('explains why a text is not a single statement', async () => {
    expect((await program.run('query', ' \n')).stderr).toBe(
      'error: There is no SQL here: the text is empty.\n',
    );
    expect((await program.run('query', '/* SELECT 1 */ ;')).stderr).toContain('only comments');
    expect((await program.run('query', 'SELECT 1; SELECT 2')).stderr).toContain('more than one statement');
    expect((await program.run('query', 'SELECT 1; -- the end')).exitCode).toBe(0);
    expect(await program.run('query', 'SELECT 1\0; DROP TABLE inboxes')).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining('has a NUL character') as string,
    });
  });
});

test('query says on stderr that a first copy is not complete, and how far it is', async () => {
  const sql = 'SELECT count(*) AS n FROM backlog_now';
  const early = await program.run('query', sql, '--format', 'csv');
  expect(early).toMatchObject({ exitCode: 0, stdout: 'n\n0\n' });
  expect(early.stderr).toBe(
    'warning: The first copy is not complete (0 of 1 list): the answer counts only what has been copied.\n',
  );
  expect(await program.run('query', 'SELECT 1 AS n')).toMatchObject({ stderr: '' });
  await program.run('sync');
  expect(await program.run('query', sql)).toMatchObject({ exitCode: 0, stderr: '' });
});

test('a list that cannot be read does not keep the first copy under way for ever', async () => {
  const other = await testProgram({ inboxes: 1, conversations: 5 });
  other.sandbox.faults.set('tags', 'forbidden');
  await other.run('sync');
  const { exitCode, stderr } = await other.run('query', 'SELECT count(*) AS n FROM backlog_now');
  expect([exitCode, stderr]).toEqual([0, '']);
});

test('query names a list whose first walk has failed, if the answer is made from it', async () => {
  const other = await testProgram({ inboxes: 1, conversations: 5 });
  const { id } = firstInbox(other.sandbox);
  other.sandbox.faults.set('tags', 'forbidden');
  await other.run('sync');
  const warned = async (sql: string): Promise<string> => (await other.run('query', sql)).stderr;
  const named = new RegExp(
    `^warning: Never read to the end, because reading fails: tags of ".+" \\(${id}\\)\\. The answer counts ` +
      'only what has been copied\\. `npx inbox-mirror status` shows the error\\.\n$',
  );
  for (const table of ['tag_volume', 'changes'])
    expect(await warned(`SELECT count(*) AS n FROM ${table}`)).toMatch(named);
  expect(await warned('SELECT count(*) AS n FROM conversations')).toBe('');
  other.sandbox.faults.clear();
  await other.run('sync');
  expect(await warned('SELECT count(*) AS n FROM tag_volume')).toBe('');
});

test('query --json is --format json, and contradicts another format', async () => {
  const { stdout } = await program.run('query', 'SELECT 1 AS n', '--json');
  expect(JSON.parse(stdout)).toEqual([{ n: 1 }]);
  expect(JSON.parse((await program.run('changes', '--json')).stdout)).toBeInstanceOf(Array);
  const both = await program.run('query', 'SELECT 1 AS n', '--json', '--format', 'csv');
  expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining('contradict each other')]);
});

test('query writes rows no faster than their reader accepts them', async () => {
  let isFull = false;
  let rows = 0;
  const stdout = {
    write(text: string) {
      expect(isFull, 'nothing is written before the reader has taken what was').toBe(false);
      isFull = true;
      rows += text.split('\n').length - 1;
      return false;
    },
    once(_event: 'drain', listener: () => void) {
      setImmediate(() => {
        isFull = false;
        listener();
      });
    },
  };
  const io = {
    env: program.env,
    cwd: program.folder,
    stdout,
    stderr: process.stderr,
    signal: new AbortController().signal,
  };
  expect(await runProgram(['query', `${MANY} LIMIT 20000`, '--format', 'csv'], io, '0.0.0-test')).toBe(0);
  expect(rows).toBe(20_001);
});

describe('a long query', () => {
  test('stops at its --timeout, prints why and exits 1', async () => {
    const query = startQuery(url, ENDLESS, '--timeout', '0.8s');
    const { by, after } = await query.ended;
    expect(by, query.errors()).toBe(1);
    expect(query.errors()).toBe(
      'error: The query was stopped: it took longer than 0.8s (--timeout). The output is incomplete.\n',
    );
    expect(after).toBeLessThan(15_000);
  });

  test('stops at Ctrl-C and exits 130, even where its reader accepts no rows', async () => {
    const [silent, stuck] = [startQuery(url, ENDLESS), startQuery(url, MANY, '--format', 'csv')];
    await once(stuck.process.stdout!, 'readable');
    // The other query started earlier, so it runs by now.
    for (const query of [silent, stuck]) {
      const asked = performance.now();
      query.process.kill('SIGINT');
      expect(await query.ended, query.errors()).toMatchObject({ by: 130 });
      expect(performance.now() - asked).toBeLessThan(3000);
    }
  });

  test('exits 0 and prints no error when its reader closes the pipe', async () => {
    const query = startQuery(url, MANY, '--format', 'ndjson');
    await once(query.process.stdout!, 'data');
    query.process.stdout!.destroy();
    expect(await query.ended).toMatchObject({ by: 0 });
    expect(query.errors()).toBe('');
  });

  test('is refused where its --timeout is not a valid length of time', async () => {
    for (const timeout of ['0', 'soon', '-1', '2d', '25h'])
      expect(await program.run('query', 'SELECT 1', `--timeout=${timeout}`)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('--timeout: expected'),
      });
    expect((await program.run('query', 'SELECT 1', '--timeout', '2m')).exitCode).toBe(0);
  });
});

describe('a table on a terminal', () => {
  test('is cut to the width except for numbers, and names the option that shows all', async () => {
    const sql = `SELECT 12345678901 AS number, '${'long '.repeat(30)}' AS words, '日本語' AS signs`;
    const lines = (await renderOnTerminal(program, 40, 'query', sql)).split('\n');
    expect(lines[1]).toBe('12345678901  long long long lon…  日本語');
    expect(lines[2]).toBe('(1 row; cut to the width of the terminal, --format json shows all)');
    expect((await program.run('query', sql)).stdout).toContain('long '.repeat(30).trim());
  });

  test('shows instants to the second in UTC where they do not fit whole, and cuts other columns instead', async () => {
    const at = `'2026-11-23T08:48:39.312+00:00'`;
    const sql = `SELECT ${at} AS since, 'https://service.example/conversations/1' AS link, NULL AS none`;
    const lines = (await renderOnTerminal(program, 50, 'query', sql)).split('\n');
    expect(lines[1]?.trimEnd()).toBe('2026-11-23 08:48:39  https://service.exampl…  NULL');
    expect(lines[2]).toMatch(/^\(1 row; times in UTC; cut to the width/);
    const wide = (await renderOnTerminal(program, 120, 'query', sql)).split('\n');
    expect([wide[1], wide[2]]).toEqual([expect.stringContaining('.312+00:00'), '(1 row)']);
  });

  test('prints rows as blocks where columns do not fit, and replaces control characters', async () => {
    const columns = Array.from(
      { length: 9 },
      (_, index) => `'value ${index}' || char(27) || '[31m' AS column_${index}`,
    );
    const text = await renderOnTerminal(program, 60, 'query', `SELECT ${columns.join(', ')}`);
    expect(text).toMatch(/^row 1 ─+\ncolumn_0 {2}value 0�\[31m\n/);
    expect(text).toMatch(/\n\(1 row\)\n$/);
  });
});

describe('a large result', () => {
  /** Rows with the numbers from 1 on. */
  const rows = (columns: string, last: number): string =>
    `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${last}) SELECT ${columns} FROM c`;

  test('fills a table of 1,000 rows, and one line under it names the options that print more', async () => {
    const { stdout, stderr, exitCode } = await program.run('query', rows('n', 400_000));
    const lines = stdout.trimEnd().split('\n');
    expect([lines.length, lines[1], lines[1000]?.trim()]).toEqual([1002, '   1', '1000']);
    expect(lines[1001]).toBe('(the first 1,000 rows; --limit prints more, --format csv all)');
    expect([stderr, exitCode]).toEqual(['', 0]);
    expect((await program.run('query', rows('n', 1000))).stdout).toMatch(/\n1000\n\(1,000 rows\)\n$/);
  });

  test('has as many rows as --limit says, in each format', async () => {
    const run = async (limit: string, format: string, last = 5000): Promise<string> =>
      (await program.run('query', rows('n', last), '--limit', limit, '--format', format)).stdout;
    expect(await run('3', 'csv')).toBe('n\n1\n2\n3\n');
    expect(await run('2', 'ndjson')).toBe('{"n":1}\n{"n":2}\n');
    expect(JSON.parse(await run('2', 'json'))).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await run('2', 'table')).toBe(
      'n\n1\n2\n(the first 2 rows; --limit prints more, --format csv all)\n',
    );
    expect((await run('1500', 'table')).split('\n')[1500]).toBe('1500');
    for (const limit of ['0', '-1', 'all', '1.5'])
      expect(await program.run('query', 'SELECT 1', `--limit=${limit}`)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('--limit: expected'),
      });
    expect(await program.run('query', 'SELECT 1', '--limit', '10001')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('a table has at most 10,000 rows'),
    });
    expect((await program.run('query', 'SELECT 1', '--limit', '10001', '--format', 'csv')).exitCode).toBe(0);
  });

  test('ends a table early where its cells would not fit into memory', async () => {
    const wide = rows(`n, CASE n WHEN 2 THEN printf('%.1000000c', 'x') ELSE 'short' END AS t`, 400_000);
    const { stdout } = await program.run('query', wide, '--limit', '10000');
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^\(the first 1\d rows; --format csv prints all\)$/);
    const onTerminal = await renderOnTerminal(program, 60, 'query', wide);
    expect(onTerminal.trimEnd().split('\n').at(-1)).toBe(
      '(the first 1,000 rows, cut to the width; --limit prints more, --format csv all)',
    );
  });

  test('has aligned columns from the first row to the last', async () => {
    const sql = rows(`n, CASE n WHEN 900 THEN 'a long text' ELSE '日本' END AS t, 'end' AS e`, 950);
    const lines = (await program.run('query', sql)).stdout.trimEnd().split('\n');
    expect([lines[0], lines[1], lines[900], lines[950]]).toEqual([
      '  n  t            e',
      '  1  日本         end',
      '900  a long text  end',
      '950  日本         end',
    ]);
  });
});

test.each([
  [`SELECT id FROM changes WHERE observed_at > datetime('now', '-1 hour')`, true],
  ['SELECT id FROM changes WHERE observed_at BETWEEN CURRENT_TIMESTAMP AND 1', true],
  [`SELECT id FROM changes WHERE observed_at > strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')`, false],
  [`SELECT id FROM changes WHERE datetime(observed_at) > datetime('now', '-1 hour')`, false],
  [`SELECT datetime('now') AS now, count(*) AS n FROM changes`, false],
])('`query` warns of instants in a form that cannot be compared: %s (%s)', async (sql, warns) => {
  const { exitCode, stderr } = await program.run('query', sql);
  expect(exitCode).toBe(0);
  expect(/compares instants as text/.test(stderr)).toBe(warns);
});

test('a view of a person’s own that is broken leaves tables, exports and hints as they are', async () => {
  const database = await openDatabase(url);
  await database.execute('CREATE TABLE mine (note TEXT)');
  await database.execute('CREATE VIEW broken AS SELECT note FROM mine');
  await database.execute('CREATE VIEW whole AS SELECT id AS conversation FROM conversations');
  await database.execute('DROP TABLE mine');
  await database.close();
  const { stdout } = await program.run('tables');
  expect(stdout).toMatch(/^whole /m);
  expect(stdout).not.toMatch(/^broken /m);
  expect(await program.run('export', 'whole', '--out', program.folder)).toMatchObject({ exitCode: 0 });
  for (const [sql, hint] of [
    ['SELECT statsu FROM conversations', 'Perhaps you meant "status".'],
    ['SELECT conversaton FROM whole', 'Perhaps you meant "conversation"'],
  ])
    expect(await program.run('query', sql!)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(hint!) as string,
    });
});
