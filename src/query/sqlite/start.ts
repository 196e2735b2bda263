import { Worker } from 'node:worker_threads';
import { compileCache } from './compile-cache.ts';
import type { Loaded } from './loaded.ts';

/** `close` waits at most 200 ms for the thread to end. */
const GRACE_MS = 200;

/** A thread that loads SQLite's driver. */
export interface DriverThread<Sent, Received> {
  readonly send: (message: Sent) => void;
  readonly onMessage: (listener: (message: Received) => void) => void;
  readonly onFailure: (listener: (error: unknown) => void) => void;
  /** Ends the thread, in the middle of its work too. A statement that runs in SQLite ends first. */
  readonly close: () => Promise<void>;
}

/**
 * Starts a thread. Its file calls `toStarter` (loaded.ts) before anything else.
 * @param youngMb the memory for new objects; a thread that keeps none needs little
 */
export function startThread<Sent, Received>(
  file: URL,
  { data, youngMb }: { readonly data: unknown; readonly youngMb: number },
): DriverThread<Sent, Received> {
  const thread = new Worker(file, {
    workerData: data,
    // Without the compile cache, the thread starts much later.
    env: { ...process.env, ...compileCache() },
    resourceLimits: { maxYoungGenerationSizeMb: youngMb },
  });
  const ended = new Promise<void>((resolve) => void thread.once('exit', resolve));
  // Node.js aborts the whole process if a thread is ended while it loads native code.
  const loaded = new Promise<void>((resolve) => void thread.once('message', () => resolve()));
  process.once('exit', endProcess);
  void ended.then(() => process.off('exit', endProcess));
  return {
    send: (message) => thread.postMessage(message),
    onMessage: (listener) =>
      void thread.on('message', (message: Loaded | Received) => {
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
  };
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
