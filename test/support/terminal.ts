import { runProgram } from '../../src/cli/program.ts';
import type { TestProgram } from './program.ts';

/** The program's output on a terminal that is `columns` wide, without colour codes. */
export async function renderOnTerminal(
  { env, folder }: TestProgram,
  columns: number,
  ...argv: string[]
): Promise<string> {
  let printed = '';
  const output = { write: (text: string) => void (printed += text), isTTY: true, columns };
  const io = { env, cwd: folder, stdout: output, stderr: output, signal: new AbortController().signal };
  await runProgram(argv, io, '0.0.0-test');
  // oxlint-disable-next-line no-control-regex
  return printed.replaceAll(/\u001B\[\d+m/g, '');
}
