import { expect, test } from 'vitest';
import { temporaryDatabase } from '../support/mirror.ts';
import { mirrorFile, type TestProgram, testProgram } from '../support/program.ts';
import { LINKS, runOnTerminal } from '../support/terminal.ts';

/** Begins a link, sets the clipboard, the title and a hidden colour, clears the line, and turns the text round. */
const HOSTILE =
  '\u001B]8;;https://evil.example\u0007\u001B]52;c;cm0=\u0007\u001B]0;title\u0007\u001B[8m\u001B[2K\u009B31mEve\u202Elive\u2066\r';
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[^\P{Cc}\n\t\u001B]|\p{Bidi_Control}/u;

/** A program whose service has hostile names and statuses, and a list that fails with a hostile message. */
async function hostileProgram(): Promise<TestProgram> {
  const program = await testProgram({ inboxes: 1, conversations: 4 });
  const { world } = program.sandbox;
  const [inbox] = world.inboxes.values();
  if (inbox === undefined) throw new Error('no inbox');
  await program.run('sync');
  inbox.display_name = `Support ${HOSTILE}`;
  for (const tag of inbox.tags.values()) tag.name = HOSTILE;
  for (const conversation of inbox.conversations.values()) conversation.status = HOSTILE;
  program.sandbox.script(({ path }) =>
    path.includes('/users') ? { status: 404, body: `refused ${HOSTILE}` } : undefined,
  );
  return program;
}

/** With these the bars of `sync` redraw themselves. */
// oxlint-disable-next-line no-control-regex
const REDRAWN = /\u001B\[(?:\?(?:2026|25)[hl]|\d*[ABCDGJK])/g;

/** Expects that a terminal would obey nothing in the text but colours. */
function expectHarmless(text: string, where: string): void {
  expect(FORBIDDEN.exec(text), where).toBeNull();
  // oxlint-disable-next-line no-control-regex
  expect(text.replaceAll(/\u001B\[(?:[0-2]|22|3[1-7]|39|4[19]|90)m/g, ''), where).not.toContain('\u001B');
}

const COMMANDS = [
  ['sync'],
  ['status', '--all'],
  ['changes'],
  ['sync', '--inbox', '404'],
  ['query', 'SELECT status FROM conversations'],
  ['doctor'],
  ['tables'],
];

/** A file or a pipe keeps the bytes of these: programs read them. */
const CSV = [
  ['query', `SELECT status AS "${HOSTILE}" FROM conversations`, '--format', 'csv'],
  ['query', 'SELECT status FROM conversations', '--format', 'csv', '--raw'],
  ['changes', '--format', 'csv'],
  ['changes', '--format', 'csv', '--raw'],
];

test('no name, status or message of the service reaches a terminal or a pipe as an instruction', async () => {
  const program = await hostileProgram();
  const [inbox = ''] = program.sandbox.world.inboxes.keys();
  const lookup = ['lookup', 'tag', '--inbox', inbox, '--name', HOSTILE];
  for (const command of [...COMMANDS, lookup]) {
    const { stdout, stderr } = await program.run(...command);
    expectHarmless(stdout + (stderr.startsWith('{') ? '' : stderr), `${command.join(' ')} in a pipe`);
    expect(stdout + stderr, command.join(' ')).not.toContain('\u001B');
    for (const columns of [60, 300]) {
      const shown = await runOnTerminal(program, columns, ...command);
      expectHarmless(
        shown.replaceAll(REDRAWN, '').replaceAll(LINKS, ''),
        `${command.join(' ')} on a terminal`,
      );
    }
  }
});

test('CSV on a terminal marks each control character; into a pipe it keeps every byte', async () => {
  const program = await hostileProgram();
  await program.run('sync');
  for (const command of CSV) {
    const shown = await runOnTerminal(program, 80, ...command);
    expectHarmless(shown, command.join(' '));
    expect(shown, command.join(' ')).toContain('�[8m�[2K�31mEve�live��');
    const { stdout } = await program.run(...command);
    expect(stdout, command.join(' ')).toContain(HOSTILE);
  }
});

test('a name is shown with a mark in place of each control', async () => {
  const program = await hostileProgram();
  await program.run('sync');
  expect((await program.run('status', '--all')).stdout).toContain(
    'Support �]8;;https://evil.example��]52;c;cm0=��]0;title��[8m�[2K�31mEve�live��',
  );
});

test('JSON holds every character as it came, escaped', async () => {
  const program = await hostileProgram();
  await program.run('sync');
  const sql = `SELECT status FROM conversations LIMIT 1`;
  for (const format of ['json', 'ndjson']) {
    const { stdout } = await program.run('query', sql, '--format', format);
    expectHarmless(stdout, format);
    expect([JSON.parse(stdout)].flat()).toEqual([{ status: HOSTILE }]);
  }
  const changes = await program.run('changes', '--field', 'status', '--format', 'json');
  expectHarmless(changes.stdout, 'changes');
  expect((JSON.parse(changes.stdout) as { new_value: string }[])[0]?.new_value).toBe(HOSTILE);
  const status = await program.run('status', '--json');
  expectHarmless(status.stdout, 'status');
  expect(status.stdout).toContain('\\u202e');
  expect(JSON.stringify(JSON.parse(status.stdout))).toContain(JSON.stringify(`Support ${HOSTILE}`));
});

test('a cell of CSV that a spreadsheet would run begins with an apostrophe, unless --raw is given', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 1 });
  await program.run('sync');
  const cells = ['=1+1', '+49 30 1', '-cmd', '@sum', '-5', '-5.25', 'a=b', ''];
  const sql = `SELECT -5 AS n, ${cells.map((cell, index) => `'${cell}' AS c${index}`).join(', ')}, NULL AS "=x"`;
  const [head, row] = (await program.run('query', sql, '--format', 'csv')).stdout.split('\n');
  expect(head).toBe(`n,${cells.map((_, index) => `c${index}`).join(',')},'=x`);
  expect(row).toBe(`-5,'=1+1,'+49 30 1,'-cmd,'@sum,-5,-5.25,a=b,"",`);
  const raw = await program.run('query', sql, '--format', 'csv', '--raw');
  expect(raw.stdout.split('\n')[1]).toBe(`-5,${cells.slice(0, -1).join(',')},"",`);
  for (const control of ['\t', '\r', '\n']) {
    const print = async (...more: string[]): Promise<string> =>
      (await program.run('query', `SELECT '${control}=1+1' AS c`, '--format', 'csv', ...more)).stdout;
    expect(await print()).toBe(`c\n"'${control}=1+1"\n`);
    expect(await print('--raw')).toBe(`c\n"${control}=1+1"\n`);
  }
});

test.each([';', '\t', '\r', '\n', ','])(
  'a cell of CSV that contains %j is quoted, so that no program separates it there',
  async (separator) => {
    const program = await testProgram({ inboxes: 1, conversations: 1 });
    await program.run('sync');
    const name = `x${separator}=1+cmd|'' /C calc''!A0`;
    const cell = `"${name.replaceAll("''", "'")}"`;
    for (const more of [[], ['--raw']]) {
      const sql = `SELECT '${name}' AS c`;
      const { stdout } = await program.run('query', sql, '--format', 'csv', ...more);
      expect(stdout).toBe(`c\n${cell}\n`);
    }
  },
);

test('changes escapes cells of CSV too, unless --raw is given', async () => {
  const program = await testProgram({ inboxes: 1, conversations: 1 });
  await program.run('sync');
  const database = await temporaryDatabase(mirrorFile(program));
  await database.execute(
    `INSERT INTO changes (observed_at, list, inbox_id, item_id, field, old_value, new_value)
     VALUES ('2026-03-02T08:00:00.000Z', 'conversations', '1', '2', 'status', 'x;=1', '=HYPERLINK("x")')`,
  );
  const print = async (...more: string[]): Promise<string> =>
    (await program.run('changes', '--field', 'status', '--format', 'csv', ...more)).stdout;
  expect(await print()).toContain(`,"x;=1","'=HYPERLINK(""x"")",`);
  expect(await print('--raw')).toContain(`,"x;=1","=HYPERLINK(""x"")",`);
});
