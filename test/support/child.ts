import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface Child {
  readonly process: ChildProcess;
  /** Its stdout, trimmed, or null if a signal ended it. Rejects on any exit code but 0. */
  readonly ended: Promise<string | null>;
}

/** Starts `child-sync.ts` as a separate process. */
export function startChild(...args: string[]): Child {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'child-sync.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = endOf(child);
  // A test that fails before it awaits `ended` must report its own failure, not this one.
  ended.catch(() => undefined);
  return { process: child, ended };
}

async function endOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<string | null> {
  const closed = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  const [out, err, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  if (signal !== null) return null;
  if (code !== 0) throw new Error(`the child ended with ${code}: ${err}`);
  return out.trim();
}
