import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { compileCache } from './compile-cache.ts';
import type { ReadOnlyMirror } from '../result.ts';
import { type Loaded, mirrorThrough, type Reply } from './requests.ts';
import { checkReadable } from './readable.ts';

/** `close` waits at most 200 ms for the thread to end. */
const GRACE_MS = 200;

/** The thread's file, and the characters of its longest row. */
export interface ThreadData {
  readonly path: string;
  readonly mostCharacters: number;
}

/**
 * Opens a file like `openSqliteReadOnly`, but in another thread. SQLite's driver has no interrupt, and a
 * query in the main thread would block signals and timers.
 * @param mostCharacters a longer row is an error
 * @throws MirrorError `USAGE` if there is no mirror yet, or this account may not read it
 */
export function openSqliteInThread(
  path: string,
  signal: AbortSignal,
  mostCharacters = Number.POSITIVE_INFINITY,
): ReadOnlyMirror {
  checkReadable(path);
  const extension = extname(import.meta.filename);
  const thread = new Worker(new URL(`worker${extension}`, import.meta.url), {
    workerData: { path, mostCharacters } satisfies ThreadData,
    // Without the compile cache, the thread starts much later.
    env: { ...process.env, ...compileCache() },
    // The thread passes its rows on and keeps none.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  const ended = new Promise<void>((resolve) => void thread.once('exit', resolve));
  // Node.js aborts the whole process if a thread is ended while it loads native code.
  const loaded = new Promise<void>((resolve) => void thread.once('message', () => resolve()));
  process.once('exit', endProcess);
  void ended.then(() => process.off('exit', endProcess));
  return mirrorThrough(
    {
      send: (message) => thread.postMessage(message),
      onReply: (listener) =>
        void thread.on('message', (message: Loaded | Reply) => {
          if (message !== 'loaded') listener(message);
        }),
      onFailure: (listener) => void thread.once('error', listener),
      async close() {
        void Promise.race([loaded, ended]).then(() => thread.terminate());
        const patience = new AbortController();
        await Promise.race([ended, pause(GRACE_MS, patience.signal)]);
        patience.abort();
        thread.unref();
      },
    },
    signal,
  );
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
