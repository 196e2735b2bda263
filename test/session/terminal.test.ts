import { expect, test } from 'vitest';
import { wrapped } from '../../src/session/terminal.ts';
import { testLog } from '../support/log.ts';
import { testProgram } from '../support/program.ts';
import { renderOnTerminal } from '../support/terminal.ts';

const terminal = (columns: number) => ({ write: () => undefined, isTTY: true, columns });

test('lines are wrapped between words on a terminal, whole in a pipe, and colours have no width', () => {
  const text = 'next     inboxes in 59 min, users in 2 h';
  expect(wrapped(terminal(30), text, 9)).toBe('next     inboxes in 59 min,\n         users in 2 h');
  expect(wrapped(terminal(40), `\u001B[31m${text}\u001B[39m`)).toBe(`\u001B[31m${text}\u001B[39m`);
  const coloured = '\u001B[32mok\u001B[39m       database      it opens and is up to date';
  expect(wrapped(terminal(44), coloured, 23)).toBe(
    `\u001B[32mok\u001B[39m       database      it opens and is up to\n${' '.repeat(23)}date`,
  );
  expect(wrapped({ write: () => undefined }, text)).toBe(text);
  expect(wrapped(terminal(30), `kept\n  ${'x'.repeat(40)} y`)).toBe(`kept\n  ${'x'.repeat(40)}\ny`);
});

test('on a terminal the log prints its figures in the sentence and omits zeros', () => {
  const { log, lines } = testLog('info', { pretty: true });
  log.info({ list: 'tags/7', rows: 8, inserted: 2, changed: 0, suspects: 1 }, 'tags of inbox 7 complete');
  log.error({ list: 'tags/7', cause: 'HTTP 404', order: 3 }, 'list failed');
  expect(lines.map((line) => line.replace(/^\[.*?\] /, ''))).toEqual([
    'INFO: tags of inbox 7 complete: 8 rows, 2 inserted, 1 not listed\n',
    'ERROR: list failed (tags/7): HTTP 404 {"order":3}\n',
  ]);
});

test('on 80 columns status, tables, doctor and changes wrap every sentence', async () => {
  const program = await testProgram({ inboxes: 2, conversations: 30 });
  await program.run('sync');
  program.sandbox.applyEvents(20);
  await program.run('sync');
  for (const command of ['status', 'tables', 'doctor', 'changes']) {
    const printed = await renderOnTerminal(program, 80, command);
    const long = printed.split('\n').filter((line) => line.length > 80 && line.trim().includes(' '));
    expect(long, command).toEqual([]);
  }
  const [first, second] = (await renderOnTerminal(program, 80, 'changes')).split('\n');
  expect(first).toMatch(/^1 {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}conversations\/\d+ \d+$/);
  expect(second).toMatch(/^ {4}\w+ {2}.+ → .+$/);
  expect(await renderOnTerminal(program, 200, 'changes')).toMatch(/^id +observed_at/);
});
