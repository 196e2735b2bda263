import { Command, CommanderError } from 'commander';
import { isMirrorError } from '../core/errors.ts';
import { addChanges } from './changes.ts';
import { addDemo } from './demo.ts';
import { addDoctor } from './doctor.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { type Io, type Runner, paint, printLine } from './io.ts';
import { addLookup } from './lookup.ts';
import { addQuery } from './query.ts';
import { addResync } from './resync.ts';
import { addSandbox } from './sandbox.ts';
import { addStart } from './start.ts';
import { addStatus } from './status.ts';
import { addSync } from './sync.ts';
import { addTables } from './tables.ts';
import { wrapped } from './wrap.ts';

/** The whole program: arguments in, exit code out. Known errors print a sentence, bugs print a stack; neither prints the key. */
export async function runProgram(argv: readonly string[], io: Io, version: string): Promise<number> {
  let exitCode: number = EXIT.done;
  const run: Runner = async (work) => {
    exitCode = await work(io);
  };
  const program = new Command('inbox-mirror')
    .description('A live SQL copy of a shared-mailbox service, kept within its request limits.')
    .version(version)
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
    .configureHelp({ showGlobalOptions: false })
    .exitOverride()
    .showHelpAfterError('(add --help for usage)')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 unexpected, 2 bad usage or configuration, 3 key refused,\n4 stopped short but resumable, 5 status: stale or parked, 130 interrupted.\nWith no account: inbox-mirror demo',
    );
  for (const add of [
    addStart,
    addSync,
    addResync,
    addStatus,
    addQuery,
    addTables,
    addChanges,
    addDoctor,
    addLookup,
    addSandbox,
    addDemo,
  ])
    add(program, run);
  for (const command of program.commands) command.exitOverride().copyInheritedSettings(program);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    printLine(io.stderr, describeError(io, error), io.env['INBOX_API_KEY'] ?? null);
    return exitCodeOf(error);
  }
}

function describeError(io: Io, error: unknown): string {
  if (isMirrorError(error)) {
    const lines = `${paint(io.stderr, 'red', 'error:')} ${error.message}`.split('\n');
    // What is set in, an excerpt of SQL with a caret under it, must stay as it is.
    return lines.map((line) => (line.startsWith(' ') ? line : wrapped(io.stderr, line))).join('\n');
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${paint(io.stderr, 'red', 'unexpected error:')} ${detail}\nThis is a bug; nothing that was applied is lost. Please report it with the lines above.`;
}
