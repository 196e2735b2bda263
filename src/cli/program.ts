import { Command, CommanderError } from 'commander';
import { EXIT, exitCodeOf, isMirrorError } from '../core/errors.ts';
import { type Io, paint, printLine, type Runner, wrapped } from '../session/terminal.ts';
import { addChanges } from './definitions/changes.ts';
import { addDemo } from './definitions/demo.ts';
import { addDoctor } from './definitions/doctor.ts';
import { addLookup } from './definitions/lookup.ts';
import { addQuery } from './definitions/query.ts';
import { addResync } from './definitions/resync.ts';
import { addSandbox } from './definitions/sandbox.ts';
import { addStart } from './definitions/start.ts';
import { addStatus } from './definitions/status.ts';
import { addSync } from './definitions/sync.ts';
import { addTables } from './definitions/tables.ts';

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
