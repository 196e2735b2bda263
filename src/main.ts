import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from './cli/program.ts';
import { MirrorError } from './core/errors.ts';

const INTERRUPTED = 130;
/** So long whoever asked to stop waits for a reader of the output that takes no more. */
const FLUSH_MS = 300;

/** The first signal asks for a clean stop, the second one does not ask. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(INTERRUPTED);
      stop.abort(new MirrorError('STOPPED', `Stopped by ${name}.`));
    });
  }
  return stop.signal;
}

/** Only who asks for hang-ups gets them; otherwise they end the program, as a closed terminal should. */
function onHangup(listener: () => void): () => void {
  process.on('SIGHUP', listener);
  return () => process.off('SIGHUP', listener);
}

/** A reader of results that has seen enough (`… | head`) closes the pipe: that is no error. One of the log does not stop the work. */
function heedOutputErrors(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Nor does one of the daemon's plan.
    if (process.argv[2] === 'start') return;
    if (error.code !== 'EPIPE')
      process.stderr.write(`error: the output cannot be written (${error.code ?? error.message})\n`);
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  process.stderr.on('error', () => undefined);
}

heedOutputErrors();
const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
  version: string;
};
process.exitCode = await runProgram(
  process.argv.slice(2),
  {
    env: process.env,
    cwd: process.cwd(),
    stdout: process.stdout,
    stderr: process.stderr,
    signal: stopSignal(),
    onHangup,
  },
  version,
);
if (process.exitCode === INTERRUPTED) setTimeout(() => process.exit(), FLUSH_MS).unref();
