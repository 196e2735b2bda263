import { fork } from 'node:child_process';
import { extname, join } from 'node:path';
import { MirrorError } from '../../core/errors.ts';
import type { ReadOnlyMirror } from '../result.ts';
import { type Channel, mirrorThrough, type Reply } from './requests.ts';
import { checkReadable } from './readable.ts';

/** The process may use this many MB of JavaScript's memory; a text that does not fit ends it. */
const HEAP_MB = 128;

/**
 * Opens a file like `openSqliteReadOnly`, but in another process, which can be killed in the middle of a
 * statement. It gets no variable of the environment, so no query can reach a key.
 * @param signal kills the process at any moment
 * @throws MirrorError `USAGE` if there is no mirror yet, or this account may not read it
 */
export function openSqliteInProcess(path: string, signal: AbortSignal): ReadOnlyMirror {
  checkReadable(path);
  const child = fork(join(import.meta.dirname, `child${extname(import.meta.filename)}`), [path], {
    env: {},
    execArgv: [`--max-old-space-size=${HEAP_MB}`],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  process.once('exit', kill);
  child.once('exit', () => {
    signal.removeEventListener('abort', kill);
    process.off('exit', kill);
  });
  const channel: Channel = {
    send: (message) => void child.send(message),
    onReply: (listener) => void child.on('message', (reply) => listener(reply as Reply)),
    onFailure(listener) {
      child.once('error', listener);
      child.once('exit', () => listener(tooMuch()));
    },
    async close() {
      kill();
    },
  };
  return mirrorThrough(channel, signal);
}

function tooMuch(): MirrorError {
  return new MirrorError(
    'USAGE',
    'The query needed more memory than it may use, so it was stopped. Ask for fewer or shorter values.',
  );
}
