import { PassThrough } from 'node:stream';
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

/** What a line held when readline began to write it anew. */
// oxlint-disable-next-line no-control-regex
const CLEARED = /[^\n]*\u001B\[1G\u001B\[0J/g;

/** The keys of a terminal: a test types by writing to it. */
export function keyboard(): PassThrough & { isTTY: boolean } {
  return Object.assign(new PassThrough(), { isTTY: true });
}

/**
 * Runs the program with a person at a terminal, who types an answer to each question. `\u0003` is Ctrl-C.
 * Everything that the terminal shows is in `shown`.
 */
export async function answering(
  { env, folder }: TestProgram,
  argv: readonly string[],
  answers: readonly string[],
  stdin = keyboard(),
): Promise<{ exitCode: number; shown: string }> {
  const left = [...answers];
  let shown = '';
  const write = (text: string): void => {
    shown += text;
    const answer = /[:\]] $/.test(text) ? left.shift() : undefined;
    if (answer !== undefined) setImmediate(() => stdin.write(answer === '\u0003' ? answer : `${answer}\r`));
  };
  const output = { write, isTTY: true, columns: 200 };
  const io = {
    env,
    cwd: folder,
    stdin,
    stdout: output,
    stderr: output,
    signal: new AbortController().signal,
  };
  const exitCode = await runProgram(argv, io, '0.0.0-test');
  return { exitCode, shown: stripVTControlCharacters(shown.replaceAll(CLEARED, '')) };
}
