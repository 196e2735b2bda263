import { beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../../src/database/open.ts';
import { mirrorFile, type TestProgram, testProgram } from '../../support/program.ts';
import { renderOnTerminal } from '../../support/terminal.ts';

const DAYS = `SELECT day, open FROM (SELECT '2026-11-18' AS day, 20 AS open UNION ALL SELECT '2026-11-19', 0
  UNION ALL SELECT '2026-11-20', 4000) AS days ORDER BY day`;

let program: TestProgram;
beforeEach(async () => {
  program = await testProgram();
  await (await openDatabase(`file:${mirrorFile(program)}`)).close();
});

test('query --chart draws a bar for each row, as wide as the terminal', async () => {
  const lines = (await renderOnTerminal(program, 60, 'query', '--chart', DAYS)).trimEnd().split('\n');
  expect(lines).toEqual([
    '2026-11-18     20  █',
    '2026-11-19      0',
    `2026-11-20  4,000  ${'█'.repeat(41)}`,
    '(3 rows)',
  ]);
  expect(Math.max(...lines.map((line) => line.length))).toBe(60);
  const { stdout } = await program.run('query', '--chart', DAYS);
  expect(Math.max(...stdout.split('\n').map((line) => line.length)), 'in a pipe').toBe(80);
});

test('query --chart names a row by further words where its first column repeats', async () => {
  const sql = `SELECT '2026-11-18' AS day, '7' AS inbox_id, 'Support' AS inbox, 'open' AS status, 4 AS conversations
    UNION ALL SELECT '2026-11-18', '7', 'Support', 'pending', 2`;
  const { stdout } = await program.run('query', '--chart', sql);
  expect(stdout).toMatch(/^2026-11-18 Support open {5}4 {2}█+\n2026-11-18 Support pending {2}2 {2}█+\n/);
});

test('query --chart draws a picture over time for each of several columns of numbers', async () => {
  const sql = `SELECT '2026-05' AS month, 1 AS a, 8 AS bb UNION ALL SELECT '2026-06', 8, NULL`;
  const { stdout } = await program.run('query', '--chart', sql);
  expect(stdout).toBe('a   ▁█  1 to 8\nbb  █·  8 to 8\n    2026-05 to 2026-06\n(2 rows)\n');
});

test('query --chart draws bars for each of several columns of numbers if its rows are names', async () => {
  const sql = `SELECT 'Support' AS inbox, 3 AS open, 8 AS closed UNION ALL SELECT 'Sales', 1, NULL`;
  const { stdout } = await program.run('query', '--chart', sql);
  expect(stdout.replaceAll(/█+/g, '█')).toBe(
    'open\nSupport  3  █\nSales    1  █\n\nclosed\nSupport     8  █\nSales    NULL\n(2 rows)\n',
  );
});

test('query --chart takes an hour or a weekday for a name, not for a figure', async () => {
  const sql = `SELECT 'Support' AS inbox, 1 AS weekday, 9 AS hour, 4 AS arrivals
    UNION ALL SELECT 'Support', 1, 10, 2`;
  const { stdout } = await program.run('query', '--chart', sql);
  expect(stdout).toMatch(/^Support 1 9 {3}4 {2}█+\nSupport 1 10 {2}2 {2}█+\n\(2 rows\)\n$/);
  const hours = await program.run(
    'query',
    '--chart',
    `SELECT 'a' AS name, 9 AS hour UNION ALL SELECT 'b', 3`,
  );
  expect(hours.stdout).toMatch(/^a {2}9 {2}█+\nb {2}3 {2}█+\n/);
});

test.each([
  [['SELECT 1 AS n'], 'column of numbers after it. This one has "n"'],
  [[`SELECT 'a' AS name, 'b' AS other`], 'column of numbers after it'],
  [
    ['WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500) SELECT n, n FROM c'],
    '400 rows',
  ],
  [['SELECT 1, 2', '--format', 'csv'], 'takes no --format'],
])('query --chart refuses %j with exit code 2 and a reason', async (argv, sentence) => {
  const { exitCode, stderr } = await program.run('query', '--chart', ...argv);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(sentence)]);
});
