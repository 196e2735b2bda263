import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A real `inbox-mirror query`. It waits while a test does not read its stdout. */
export interface QueryProcess {
  readonly process: ChildProcess;
  readonly errors: () => string;
  /** Its exit code or the signal that ended it, and the milliseconds that it ran. */
  readonly ended: Promise<{ readonly by: number | string; readonly after: number }>;
}

export function startQuery(databaseUrl: string, ...argv: string[]): QueryProcess {
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../bin/inbox-mirror.cjs'), 'query', ...argv],
    {
      env: { PATH: process.env['PATH'], DATABASE_URL: databaseUrl },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  const ended = once(child, 'exit').then(([code, signal]) => ({
    by: (code ?? signal) as number | string,
    after: performance.now() - began,
  }));
  return { process: child, errors: () => errors, ended };
}
