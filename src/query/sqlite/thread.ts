import { existsSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { unlessAborted } from '../../core/abortable.ts';
import { type ErrorCode, MirrorError } from '../../core/errors.ts';
import { sqlite } from '../../database/sqlite/dialect.ts';
import { noMirrorYet } from '../faults.ts';
import type { Cell, QueryResult, ReadOnlyMirror } from '../result.ts';

/** What the thread is told. */
export type Ask = { readonly sql: string } | 'rows';

/** What it says to that. */
export type Answer =
  | { readonly columns: QueryResult['columns'] }
  | { readonly rows: Cell[][]; readonly done: boolean }
  | { readonly failure: unknown; readonly code: ErrorCode | null };

/** So long the thread may take to end by itself. */
const GRACE_MS = 200;

/**
 * As `openSqliteReadOnly`, in a thread of its own: SQLite cannot be interrupted through its driver, and while it works in the main thread
 * neither a signal nor a timer gets through.
 * @throws MirrorError `USAGE` where there is no mirror yet
 */
export function openSqliteInThread(path: string, signal: AbortSignal): ReadOnlyMirror {
  if (!existsSync(path)) throw noMirrorYet(path);
  const extension = extname(import.meta.filename);
  const compiled = getCompileCacheDir();
  const thread = new Worker(new URL(`worker${extension}`, import.meta.url), {
    workerData: path,
    // A thread does not share what is compiled by itself, and would be ready much later.
    env: compiled === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: compiled },
    // It hands its rows on and keeps none.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  const ended = new Promise<void>((resolve) => void thread.once('exit', resolve));
  process.once('exit', endProcess);
  void ended.then(() => process.off('exit', endProcess));
  // One question at a time is under way. A promise for all of them would hold on to each answer.
  let settle:
    | { readonly resolve: (answer: Answer) => void; readonly reject: (error: unknown) => void }
    | undefined;
  thread.on('message', (answer: Answer) => settle?.resolve(answer));
  thread.once('error', (error) => settle?.reject(error));
  const ask = async (what: Ask): Promise<Answer> => {
    const answered = new Promise<Answer>((resolve, reject) => (settle = { resolve, reject }));
    thread.postMessage(what);
    const answer = await unlessAborted(answered, signal);
    if ('failure' in answer) throw asItWas(answer);
    return answer;
  };
  return {
    dialect: sqlite,
    async query(sql) {
      const answer = await ask({ sql });
      return { columns: 'columns' in answer ? answer.columns : [], rows: rowsOf(() => ask('rows')) };
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

/** The thread reads the next rows while these are printed. */
async function* rowsOf(ask: () => Promise<Answer>): AsyncGenerator<Cell[]> {
  for (let next: Promise<Answer> | null = ask(); next !== null;) {
    const answer: Answer = await next;
    if (!('rows' in answer)) return;
    next = answer.done ? null : ask();
    // Whoever stops reading does not ask what became of it.
    next?.catch(() => undefined);
    for (const row of answer.rows) yield row;
  }
}

function asItWas({ failure, code }: { failure: unknown; code: ErrorCode | null }): unknown {
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
 * Node waits for its threads before it exits, and one inside SQLite hears nothing until its statement ends, perhaps in hours. Replacing the
 * process ends them all at once, and keeps the exit code. Where that cannot be done (Windows), it is killed.
 */
function endProcess(code: number): void {
  try {
    process.execve?.(process.execPath, [process.execPath, '-e', `process.exit(${code})`], {});
  } catch {
    // Killed below.
  }
  process.kill(process.pid, 'SIGKILL');
}
