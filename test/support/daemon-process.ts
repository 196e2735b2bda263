import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';
import { SECRET, type TestProgram } from './program.ts';

/** The fields that docs/logging.md names. */
const DOCUMENTED = readFileSync(join(import.meta.dirname, '../../docs/logging.md'), 'utf8')
  .split('\n')
  .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, field]) => field));

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string; readonly level: number };

/** A real `inbox-mirror start`, as a service manager runs it. */
export interface DaemonProcess {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly log: LogLine[];
  readonly stdout: () => string;
  /** All of stderr. */
  readonly errors: () => string;
  /** Resolves with the first log line, past or future, that matches. Rejects if the process ends first. */
  said(message: RegExp): Promise<LogLine>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

export function startDaemon({ folder, env }: TestProgram, more: Record<string, string> = {}): DaemonProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/inbox-mirror.cjs'), 'start'], {
    cwd: folder,
    // Without the configuration of the machine that runs the tests. At 5,000 requests a day the pace would
    // let one pass every 17 s.
    env: { PATH: process.env['PATH'], REQUESTS_PER_DAY: '200000', ...env, HTTP_PORT: '0', ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const log: LogLine[] = [];
  const waiting = new Set<() => void>();
  let output = '';
  let errors = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  createInterface({ input: child.stderr }).on('line', (line) => {
    errors += `${line}\n`;
    if (line.startsWith('{')) log.push(JSON.parse(line) as LogLine);
    for (const check of waiting) check();
  });
  const ended = once(child, 'close').then(([code, signal]) => {
    for (const check of waiting) check();
    expect(output + errors, 'the key is nowhere in the output').not.toContain(SECRET);
    for (const line of log)
      expect(DOCUMENTED, 'docs/logging.md has each field of the log').toEqual(
        expect.arrayContaining(Object.keys(line)),
      );
    return (code ?? signal) as number | string;
  });
  return {
    process: child,
    pid: child.pid ?? 0,
    log,
    stdout: () => output,
    errors: () => errors,
    ended,
    async said(message) {
      return await new Promise((resolve, reject) => {
        const check = (): void => {
          const line = log.find(({ msg }) => message.test(msg));
          if (line === undefined && child.exitCode === null && child.signalCode === null) return;
          waiting.delete(check);
          if (line === undefined) reject(new Error(`the daemon ended without saying ${message}:\n${errors}`));
          else resolve(line);
        };
        waiting.add(check);
        check();
      });
    },
  };
}
