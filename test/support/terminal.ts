import { stripVTControlCharacters } from 'node:util';
import { runProgram } from '../../src/cli/program.ts';
import type { TestProgram } from './program.ts';

/** The program's output on a terminal that is `columns` wide. */
export async function runOnTerminal(
  { env, folder }: TestProgram,
  columns: number,
  ...argv: string[]
): Promise<string> {
  let printed = '';
  const output = { write: (text: string) => void (printed += text), isTTY: true, columns };
  const io = { env, cwd: folder, stdout: output, stderr: output, signal: new AbortController().signal };
  await runProgram(argv, io, '0.0.0-test');
  return printed;
}

/** The program's links: each begins and ends with one. */
// oxlint-disable-next-line no-control-regex
export const LINKS = /\u001B\]8;id=[0-9a-f]{16};(?:https?:[\u0021-\u007E]*)?\u0007/g;

/** The same without colour codes and links. */
export async function renderOnTerminal(
  program: TestProgram,
  columns: number,
  ...argv: string[]
): Promise<string> {
  return stripVTControlCharacters((await runOnTerminal(program, columns, ...argv)).replaceAll(LINKS, ''));
}
