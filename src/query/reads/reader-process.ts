// The process of `child.ts`. SQLite runs in a thread of it, so that this thread can end the process at any
// moment.
import { flushCompileCache } from 'node:module';
import { isMirrorError, messageOf } from '../../core/errors.ts';
import { AT_ONCE, type ReadOnlyMirror } from '../result.ts';
import { openSqliteInThread } from '../sqlite/thread.ts';
import { MOST_BYTES, MOST_IN_ROW, readBounded } from './bounded.ts';
import type { Part, Sent } from './child.ts';

/** The memory is looked at once in this many ms. */
const LOOK_MS = 20;

const { signal } = new AbortController();
const [, , path = ''] = process.argv;
let kept: ReadOnlyMirror | undefined;

const end = (): void => void process.kill(process.pid, 'SIGKILL');

// Without its parent the process has no reader.
process.on('disconnect', end);
// A Ctrl-C in a terminal also reaches this process; its parent ends it.
process.on('SIGINT', () => undefined);
process.on('message', (sent: Sent) => {
  void answerTo(sent).then((parts) => parts.forEach((part) => process.send?.(part)));
});

let isCompiledKept = false;

/** Node.js would keep the compiled modules at the end of the process, but this process is always killed. */
function keepCompiled(): void {
  if (!isCompiledKept) flushCompileCache();
  isCompiledKept = true;
}

async function answerTo({ sql, values, bounds }: Sent): Promise<Part[]> {
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() > MOST_BYTES) end();
  }, LOOK_MS);
  try {
    kept ??= openSqliteInThread(path, signal, MOST_IN_ROW);
    const { rows, ...rest } = await readBounded(kept, sql, values, bounds);
    keepCompiled();
    // The thread still has rows for a reader that no longer wants them.
    if (!rest.complete) {
      await kept.close();
      kept = undefined;
    }
    const parts: Part[] = [];
    for (let from = 0; from < rows.length; from += AT_ONCE.rows)
      parts.push({ rows: rows.slice(from, from + AT_ONCE.rows) });
    return [...parts, rest];
  } catch (error) {
    return [{ failure: { message: messageOf(error), code: isMirrorError(error) ? error.code : null } }];
  } finally {
    clearInterval(watch);
  }
}
