import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { renderTable } from '../../src/cli/output/table.ts';
import { harmless, linked, wrapped } from '../../src/session/terminal.ts';
import { loadPrettify } from '../../src/session/log.ts';
import { testLog } from '../support/log.ts';
import { testProgram } from '../support/program.ts';
import { LINKS, renderOnTerminal } from '../support/terminal.ts';

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
  // A figure and its unit are one word.
  const units = 'half were seen within 26 s, 95 % within 48 s of 1,024 MB, until 14:41 UTC';
  expect(wrapped(terminal(42), units)).toBe(
    'half were seen within 26 s, 95 % within\n48 s of 1,024 MB, until 14:41 UTC',
  );
  expect(wrapped(terminal(24), units)).toBe(
    'half were seen within\n26 s, 95 % within 48 s\nof 1,024 MB, until\n14:41 UTC',
  );
  const command = 'run `inbox-mirror sync inboxes` again';
  expect(wrapped(terminal(38), command)).toBe('run `npx inbox-mirror sync inboxes`\nagain');
  expect(wrapped(terminal(34), command)).toBe('run\n`npx inbox-mirror sync inboxes`\nagain');
  expect(wrapped(terminal(30), `kept\n  ${'x'.repeat(40)} y`)).toBe(`kept\n  ${'x'.repeat(40)}\ny`);
});

test('only links of the program reach a terminal, and only to the web', () => {
  const output = terminal(80);
  const link = linked(output, 'conversation 7', 'https://mail.example.com/7');
  expect(link).toMatch(LINKS);
  expect(harmless(output, link)).toBe(link);
  const forged = link.replaceAll(/id=[0-9a-f]+/g, 'id=0123456789abcdef');
  for (const foreign of [forged, '\u001B]8;;https://evil.example\u0007click\u001B]8;;\u0007'])
    expect(harmless(output, foreign)).not.toMatch(/\p{Cc}/u);
  for (const address of ['javascript:alert(1)', 'https://a.example/\u0007b', 'https://a.example/ b', null])
    expect(linked(output, 'text', address)).toBe('text');
  expect(linked({ write: () => undefined }, 'text', 'https://mail.example.com/7')).toBe('text');
  expect(harmless({ write: () => undefined }, link)).not.toMatch(/\p{Cc}/u);
});

test('on a terminal the log prints its figures in the sentence and omits zeros', async () => {
  const prettify = await loadPrettify({ inboxName: () => 'Support', timezone: 'UTC' }, false);
  const { log, lines } = testLog('info', { prettify });
  log.info({ list: 'tags/7', rows: 8, inserted: 2, changed: 0, suspects: 1 }, 'tags of inbox 7 complete');
  log.error({ list: 'tags/7', cause: 'HTTP 404', order: 3 }, 'list failed');
  log.warn({ cause: 'HTTP 500', failure: 1, waitMs: 2227 }, 'request failed; retrying');
  log.info({ database: 'mirror.db', pid: 4711 }, 'started');
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-03-02T12:30:00Z') });
  onTestFinished(() => void vi.useRealTimers());
  log.warn({ cause: '429', until: new Date('2026-03-02T14:41:00Z') }, 'pausing');
  expect(lines.map((line) => line.replace(/^\[.*?\] /, ''))).toEqual([
    'INFO: tags of Support (7) complete: 8 rows, 2 inserted, 1 not listed\n',
    'ERROR: tags of Support (7): list failed (order 3): HTTP 404\n',
    'WARN: request failed; retrying (attempt 1 failed, next attempt in 2 s): HTTP 500\n',
    'INFO: started (database mirror.db)\n',
    'WARN: pausing (for 2 h 11 min, until 14:41 UTC): 429\n',
  ]);
});

test('a line of the log for which no sentence can be made is printed as JSON', () => {
  const { log, lines } = testLog('info', {
    prettify: () => {
      throw new RangeError('Invalid time value');
    },
  });
  log.warn({ cause: 'HTTP 503' }, 'request failed');
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ msg: 'request failed', cause: 'HTTP 503' }),
  ]);
});

test('on 80 columns status, tables, doctor and changes wrap every sentence', async () => {
  const program = await testProgram({ inboxes: 2, conversations: 30 });
  await program.run('sync');
  program.sandbox.applyEvents(20);
  await program.run('sync');
  for (const command of ['status --all', 'tables', 'doctor', 'changes', 'sync', 'export inboxes']) {
    const printed = await renderOnTerminal(program, 80, ...command.split(' '));
    const long = printed.split('\n').filter((line) => line.length > 80 && line.trim().includes(' '));
    expect(long, command).toEqual([]);
  }
  // One long name is cut, but not its id, and the texts of all rows stay beside them.
  const names = [...Array<string>(19).fill('Support (20117)'), `${'x'.repeat(70)} (9007199254740993)`];
  const columns = ['inbox', 'list', 'state'].map((title) => ({ title }));
  const rows = names.map((name) => [name, 'conversations', 'fresh, mailbox not authorised: nothing new']);
  const [titles, one, ...others] = stripVTControlCharacters(renderTable(terminal(80), columns, rows)).split(
    '\n',
  );
  expect([titles, one]).toEqual([
    expect.stringMatching(/^inbox +list +state$/),
    expect.stringMatching(/^Support \(20117\) +conversations  fresh, \S/),
  ]);
  expect(others.find((line) => line.startsWith('x'))).toMatch(
    /^x+…x* \(9007199254740993\)  conversations  fresh/,
  );
  const narrow = await renderOnTerminal(program, 66, 'status', '--all');
  expect(narrow).toMatch(/^inbox .* rows\n {4}state\n/m);
  const [head, below, first, second] = (await renderOnTerminal(program, 80, 'changes')).split('\n');
  expect([head, below]).toEqual(['seen (UTC)           inbox  item', '  id  field  change']);
  expect(first).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}Support \(20117\) {2}conversation \d+$/);
  expect(second).toMatch(/^ {3}1 {2}\w+ {2}.+ → .+$/);
  expect(await renderOnTerminal(program, 200, 'changes')).toMatch(/^id {2}seen \(UTC\) +inbox +item +field/);
});
