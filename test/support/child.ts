import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** Where `bin/inbox-mirror.cjs` keeps compiled modules too: they are half of what a short process computes. */
const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') };

export interface Child {
  readonly process: ChildProcess;
  /** What it printed; null where a signal ended it. */
  readonly ended: Promise<string | null>;
}

/** Starts `child-sync.ts` as a process of its own. */
export function startChild(...args: string[]): Child {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'child-sync.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', ...COMPILED },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = endOf(child);
  // A test that fails before it awaits this must show its own failure.
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
