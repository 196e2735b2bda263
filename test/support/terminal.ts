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

/** The same without colour codes. */
export async function renderOnTerminal(
  program: TestProgram,
  columns: number,
  ...argv: string[]
): Promise<string> {
  // oxlint-disable-next-line no-control-regex
  return (await runOnTerminal(program, columns, ...argv)).replaceAll(/\u001B\[\d+m/g, '');
}
