import { Command, CommanderError } from 'commander';
import { EXIT, exitCodeOf, isMirrorError } from '../core/errors.ts';
import { harmless, type Io, paint, printLine, withClockTimes, wrapped } from '../session/terminal.ts';
import { addChanges } from './commands/read/changes.ts';
import { addDemo } from './commands/demo.ts';
import { addExport } from './commands/read/export.ts';
import { addLookup } from './commands/lookup.ts';
import { addMcp } from './commands/read/mcp.ts';
import { addQuery } from './commands/read/query.ts';
import { addResync } from './commands/resync.ts';
import { addSandbox } from './commands/sandbox.ts';
import { addCompletion } from './commands/setup/completion.ts';
import { addDoctor } from './commands/setup/doctor.ts';
import { addHelp } from './commands/setup/help.ts';
import { addInit } from './commands/setup/init.ts';
import { addStart } from './commands/start.ts';
import { addPlan } from './commands/plan.ts';
import { addStatus } from './commands/status.ts';
import { addSync } from './commands/sync.ts';
import { addTables } from './commands/read/tables.ts';
import type { Runner } from './options.ts';

/**
 * Runs the command that the arguments name. A known error prints a sentence, a bug prints a stack; neither
 * prints the key.
 * @returns the exit code
 */
export async function runProgram(
  argv: readonly string[],
  world: Omit<Io, 'version'>,
  version: string,
): Promise<number> {
  const io: Io = { ...world, version };
  let exitCode: number = EXIT.done;
  const run: Runner = async (work) => {
    exitCode = await work(io);
  };
  const program = new Command('inbox-mirror')
    .description(
      "A live SQL copy of a shared-mailbox service that stays within the service's request limits.",
    )
    .version(version)
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(harmless(io.stderr, text)),
      outputError: (text, write) => write(withAdvice(text)),
    })
    .configureHelp({ showGlobalOptions: false })
    .exitOverride()
    .showHelpAfterError('(add --help for usage)')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 bad usage, configuration or SQL, 3 key refused,\n' +
        '4 stopped early but resumable, 5 status: not healthy, 130 interrupted.\n' +
        'To try the program without an account: inbox-mirror demo',
    );
  addCommands(program, run);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const { keyToMask } = await import('../session/config/secrets.ts');
    const text = withClockTimes(io.stderr, describeError(io, error), Date.now());
    printLine(io.stderr, text, keyToMask(io.env, io.cwd));
    return exitCodeOf(error);
  }
}

/** A shell makes several words of SQL without quotes. */
function withAdvice(text: string): string {
  return text.includes("too many arguments for 'query'")
    ? `${text.trimEnd()} Put the SQL in quotes.\n`
    : text;
}

/** Adds every command in the order of the help. @returns the program */
export function addCommands(program: Command, run: Runner): Command {
  for (const add of [
    addStart,
    addSync,
    addResync,
    addStatus,
    addPlan,
    addQuery,
    addTables,
    addChanges,
    addExport,
    addMcp,
    addInit,
    addDoctor,
    addLookup,
    addSandbox,
    addDemo,
    addCompletion,
    addHelp,
  ])
    add(program, run);
  inherit(program);
  return program;
}

/** Gives every command below this one its output and its way to end. */
function inherit(parent: Command): void {
  for (const command of parent.commands) {
    command.exitOverride().copyInheritedSettings(parent);
    inherit(command);
  }
}

function describeError(io: Io, error: unknown): string {
  if (isMirrorError(error)) {
    const lines = `${paint(io.stderr, 'red', 'error:')} ${error.message}`.split('\n');
    // Wrapping would move the caret under an excerpt of SQL. Both lines are indented.
    return lines.map((line) => (line.startsWith(' ') ? line : wrapped(io.stderr, line))).join('\n');
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return (
    `${paint(io.stderr, 'red', 'unexpected error:')} ${detail}\n` +
    'This is a bug. The mirror keeps every page that it has applied. ' +
    'Please report the bug with the lines above.'
  );
}
