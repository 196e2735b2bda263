import { isatty } from 'node:tty';
import { EXIT, MirrorError } from '../core/errors.ts';
import type { Io } from '../session/terminal.ts';
import { programVersion } from '../session/version.ts';
import { runProgram } from './program.ts';

/** After an interrupt the program waits at most this many ms for a slow reader of its output. */
const FLUSH_MS = 300;

/** The file descriptors of stdin, stdout and stderr. */
const STREAMS = [0, 1, 2];

const isDaemon = process.argv[2] === 'start';

/** The first signal requests a clean stop; the second ends the process at once. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(EXIT.interrupted);
      stop.abort(new MirrorError('STOPPED', `Stopped by ${name}.`));
    });
  }
  return stop.signal;
}

/**
 * From now on only the SIGHUP of a closed terminal stops the program. One that comes before the first
 * listener is ignored: the key has just been read, and systemd would take an end by SIGHUP for a clean stop.
 */
function hearHangups(): NonNullable<Io['onHangup']> {
  const terminals = STREAMS.filter((stream) => isatty(stream));
  const ignore = (): void => undefined;
  let heard = ignore;
  let isClosed = false;
  process.on('SIGHUP', () => {
    // The shell and the system may both send one.
    if (isClosed) return;
    isClosed = terminals.some((stream) => !isatty(stream));
    if (isClosed) process.kill(process.pid, 'SIGTERM');
    else heard();
  });
  return (listener) => {
    heard = listener;
    return () => (heard = ignore);
  };
}

/** A closed stdout (`… | head`) ends the program without an error. A closed stderr does not stop the work. */
function handleOutputErrors(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The daemon prints only its schedules and their cost to stdout; it runs without a reader.
    if (isDaemon) return;
    if (error.code !== 'EPIPE')
      process.stderr.write(`error: cannot write the output (${error.code ?? error.message})\n`);
    process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.unexpected);
  });
  process.stderr.on('error', () => undefined);
}

/** The working folder. Without one no path can be read, so that the process ends. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    process.stderr.write(
      'error: The working folder was deleted. Change to another folder and run the command again.\n',
    );
    return process.exit(EXIT.usage);
  }
}

handleOutputErrors();
// Without a listener, Node opens its inspector, which can read the key from memory.
process.on('SIGUSR1', () => undefined);
// Without a listener, this signal ends the daemon before it has given its lease back.
process.on('SIGUSR2', () => undefined);
process.exitCode = await runProgram(
  process.argv.slice(2),
  {
    env: process.env,
    cwd: workingFolder(),
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    signal: stopSignal(),
    ...(isDaemon && { onHangup: hearHangups() }),
  },
  programVersion(),
);
if (process.exitCode === EXIT.interrupted) setTimeout(() => process.exit(), FLUSH_MS).unref();
