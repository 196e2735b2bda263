import { existsSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { unlessAborted } from '../../core/abortable.ts';
import { type ErrorCode, MirrorError } from '../../core/errors.ts';
import { sqlite } from '../../database/sqlite/dialect.ts';
import { noMirrorYet } from '../faults.ts';
import type { Cell, QueryResult, ReadOnlyMirror } from '../result.ts';

/** Message to the thread. */
export type Message = { readonly sql: string; readonly values: readonly Cell[] } | 'rows' | 'hold still';

/** Its reply. */
export type Reply =
  | { readonly columns: QueryResult['columns'] }
  | { readonly rows: Cell[][]; readonly done: boolean }
  | { readonly isHeld: true }
  | { readonly failure: unknown; readonly code: ErrorCode | null };

/** `close` waits at most 200 ms for the thread to end. */
const GRACE_MS = 200;

/**
 * Opens a file like `openSqliteReadOnly`, but in another thread. SQLite's driver has no interrupt, and a
 * query in the main thread would block signals and timers.
 * @throws MirrorError `USAGE` if there is no mirror yet
 */
export function openSqliteInThread(path: string, signal: AbortSignal): ReadOnlyMirror {
  if (!existsSync(path)) throw noMirrorYet(path);
  const extension = extname(import.meta.filename);
  const compiled = getCompileCacheDir();
  const thread = new Worker(new URL(`worker${extension}`, import.meta.url), {
    workerData: path,
    // A thread does not inherit the compile cache. Without it, the thread starts much later.
    env: compiled === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: compiled },
    // The thread passes its rows on and keeps none.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  const ended = new Promise<void>((resolve) => void thread.once('exit', resolve));
  process.once('exit', endProcess);
  void ended.then(() => process.off('exit', endProcess));
  // Only one request is in flight. A single long-lived promise would retain every reply.
  let settle:
    | { readonly resolve: (reply: Reply) => void; readonly reject: (error: unknown) => void }
    | undefined;
  thread.on('message', (reply: Reply) => settle?.resolve(reply));
  thread.once('error', (error) => settle?.reject(error));
  const request = async (message: Message): Promise<Reply> => {
    const replied = new Promise<Reply>((resolve, reject) => (settle = { resolve, reject }));
    thread.postMessage(message);
    const reply = await unlessAborted(replied, signal);
    if ('failure' in reply) throw restoredError(reply);
    return reply;
  };
  return {
    dialect: sqlite,
    async query(sql, values = []) {
      const reply = await request({ sql, values });
      return { columns: 'columns' in reply ? reply.columns : [], rows: rowsOf(() => request('rows')) };
    },
    async holdStill() {
      await request('hold still');
    },
    async close() {
      void thread.terminate();
      const patience = new AbortController();
      await Promise.race([ended, pause(GRACE_MS, patience.signal)]);
      patience.abort();
      thread.unref();
    },
  };
}

/** The thread reads the next batch while the caller uses this one. */
async function* rowsOf(request: () => Promise<Reply>): AsyncGenerator<Cell[]> {
  for (let next: Promise<Reply> | null = request(); next !== null;) {
    const reply: Reply = await next;
    if (!('rows' in reply)) return;
    next = reply.done ? null : request();
    // If the caller stops reading, no code awaits this request.
    next?.catch(() => undefined);
    for (const row of reply.rows) yield row;
  }
}

/** Gives an error back the class that it lost between threads. */
function restoredError({ failure, code }: { failure: unknown; code: ErrorCode | null }): unknown {
  return code !== null && failure instanceof Error
    ? new MirrorError(code, failure.message, { cause: failure.cause })
    : failure;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * Node waits for its threads before it exits, and a thread inside SQLite does not react until its statement
 * ends, possibly in hours. Replacing the process ends all threads at once and keeps the exit code. Where
 * `execve` is missing (Windows), the process kills itself.
 */
function endProcess(code: number): void {
  try {
    process.execve?.(process.execPath, [process.execPath, '-e', `process.exit(${code})`], {});
  } catch {
    // Killed below.
  }
  process.kill(process.pid, 'SIGKILL');
}
