import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { unlessAborted } from '../../core/abortable.ts';
import { MirrorError } from '../../core/errors.ts';
import { compileCache } from '../sqlite/compile-cache.ts';
import type { Cell } from '../result.ts';
import {
  type BoundedConnection,
  type BoundedRows,
  type Bounds,
  type SentFailure,
  tooMuchMemory,
} from './bounded.ts';
import { checkReadable } from '../sqlite/readable.ts';

/** A statement for the child. */
export interface Sent {
  readonly sql: string;
  readonly values: readonly Cell[];
  readonly bounds: Bounds;
}

/** A part of its answer: rows, then the rest, or a failure. In one piece it would block its reader. */
export type Part =
  | { readonly rows: Cell[][] }
  | Omit<BoundedRows, 'rows'>
  | { readonly failure: SentFailure };

/**
 * Starts a process that reads a SQLite file. A thread inside SQLite cannot be stopped; a process can. It
 * inherits no variable with a secret.
 * @param cut its signal kills the process; it is aborted if the process ends by itself
 * @throws MirrorError `USAGE` if there is no mirror, or this account may not read it, `DATABASE` if the
 *   process cannot start
 */
export async function openInChild(path: string, cut: AbortController): Promise<BoundedConnection> {
  checkReadable(path);
  cut.signal.throwIfAborted();
  const { PATH } = process.env;
  const child = fork(new URL(`reader-process${extname(import.meta.filename)}`, import.meta.url), [path], {
    serialization: 'advanced',
    // Nothing but the protocol may reach the parent's stdout.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [],
    // Without the compile cache, the child takes half as long again to start.
    env: { PATH, ...compileCache() },
  });
  // A process that cannot start emits `error` and no `exit`.
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve()).once('error', () => resolve());
  });
  void ended.then(() => cut.abort(tooMuchMemory()));
  child.on('error', (cause) =>
    cut.abort(new MirrorError('DATABASE', 'The reader did not start.', { cause })),
  );
  cut.signal.addEventListener('abort', () => void child.kill('SIGKILL'));
  // If no file descriptor is left, the process does not start and has no method `send`.
  const started = new Promise<void>((resolve) => void child.once('spawn', resolve));
  await unlessAborted(started, cut.signal);
  let onPart: ((part: Part) => void) | undefined;
  child.on('message', (part: Part) => onPart?.(part));
  return {
    async read(sql, values, bounds) {
      const rows: Cell[][] = [];
      const answered = new Promise<Exclude<Part, { rows: unknown }>>((resolve) => {
        onPart = (part) => {
          if (!('rows' in part)) resolve(part);
          else for (const row of part.rows) rows.push(row);
        };
      });
      child.send({ sql, values, bounds } satisfies Sent, () => undefined);
      const answer = await unlessAborted(answered, cut.signal);
      if ('failure' in answer) throw restored(answer.failure);
      return { ...answer, rows };
    },
    async close() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function restored({ message, code }: SentFailure): Error {
  return code === null ? new Error(message) : new MirrorError(code, message);
}
