import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { outlineOf } from '../../../../src/cli/reference/outline.ts';
import { addCommands } from '../../../../src/cli/program.ts';
import { newProgram } from '../../../support/program.ts';

const ROOT = join(import.meta.dirname, '../../../..');

const OUTLINE = outlineOf(addCommands(new Command('inbox-mirror'), async () => undefined));

test('help prints a command and a subcommand with its examples, and refuses an unknown one', async () => {
  const program = await newProgram();
  expect((await program.run('help', 'sync')).stdout).toMatch(/Usage: inbox-mirror sync[^]*Examples:/);
  const user = await program.run('help', 'lookup', 'user');
  expect([user.exitCode, user.stdout]).toEqual([0, expect.stringContaining('lookup user [options]')]);
  expect((await program.run('help')).stdout).toBe((await program.run('--help')).stdout);
  const unknown = await program.run('help', 'lookup', 'usr');
  expect([unknown.exitCode, unknown.stderr]).toEqual([2, expect.stringContaining('are: user, tag.')]);
});

test('the manual page has every command and option', async () => {
  const { stdout } = await (await newProgram()).run('help', '--man');
  for (const { name, options } of OUTLINE) {
    expect(stdout).toMatch(new RegExp(`^\\.SS ${name}\\b`, 'm'));
    for (const { flags } of options) expect(stdout).toContain(`.B ${flags.replaceAll('-', '\\-')}`);
  }
});

test('docs/commands.md names every command and option', () => {
  const docs = readFileSync(join(ROOT, 'docs/commands.md'), 'utf8');
  const missing = OUTLINE.flatMap(({ name, options }) => [
    ...(docs.includes(name) ? [] : [name]),
    ...options.flatMap(({ long }) => (long != null && docs.includes(long) ? [] : [`${name} ${long}`])),
  ]);
  expect(missing).toEqual([]);
});

test('bash completes commands, subcommands, options and the values of an option', async () => {
  const program = await newProgram();
  const script = join(program.folder, 'completion.bash');
  writeFileSync(script, (await program.run('completion', 'bash')).stdout);
  const completed = async (...words: string[]): Promise<string[]> => {
    const typed = ['inbox-mirror', ...words].map((word) => `'${word}'`).join(' ');
    const line = `source ${script}; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _inbox_mirror; echo "\${COMPREPLY[*]}"`;
    return (await promisify(execFile)('bash', ['-c', line])).stdout.trim().split(' ');
  };
  expect(await completed('st')).toEqual(['start', 'status']);
  expect(await completed('lookup', '')).toEqual(['user', 'tag', '--help']);
  expect(await completed('lookup', 'user', '--e')).toEqual(['--email']);
  expect(await completed('sync', 'con')).toEqual(['conversations']);
  expect(await completed('query', 'SELECT 1', '--format', '')).toEqual(['table', 'json', 'ndjson', 'csv']);
  expect(await completed('export', 'changes', '--format', '')).toEqual(['parquet', 'csv', 'ndjson']);
});

test('the completion for zsh leaves `words` alone: zsh keeps the line that is completed there', async () => {
  const { stdout } = await (await newProgram()).run('completion', 'zsh');
  // A blank in a pattern without quotes would be a syntax error.
  expect(stdout).toContain("    'query --format') offered=(table json ndjson csv) ;;\n");
  expect(stdout).not.toMatch(/^ *(?:local|typeset)\b.*\bwords(?:[ =]|$)|(?<!\$)\bwords=/m);
});

test.each(['zsh', 'fish'])('the completion for %s has every command and option', async (shell) => {
  const { stdout } = await (await newProgram()).run('completion', shell);
  for (const { name, options } of OUTLINE) {
    expect(stdout).toContain(name.split(' ').at(-1));
    for (const { long } of options)
      expect(stdout).toContain(shell === 'fish' ? ` -l ${String(long).replace('--', '')} ` : String(long));
  }
});
