// The process of `child.ts`. SQLite runs in a thread of it, so that this thread can end the process at any
// moment.
import { isMirrorError, messageOf } from '../../core/errors.ts';
import type { ReadOnlyMirror } from '../result.ts';
import { openSqliteInThread } from '../sqlite/thread.ts';
import { MOST_BYTES, readBounded } from './bounded.ts';
import type { Answer, Sent } from './child.ts';

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
  void answerTo(sent).then((answer) => process.send?.(answer));
});

async function answerTo({ sql, values, bounds }: Sent): Promise<Answer> {
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() > MOST_BYTES) end();
  }, LOOK_MS);
  try {
    kept ??= openSqliteInThread(path, signal);
    const answer = await readBounded(kept, sql, values, bounds);
    // The thread still has rows for a reader that no longer wants them.
    if (!answer.complete) {
      await kept.close();
      kept = undefined;
    }
    return answer;
  } catch (error) {
    return { failure: { message: messageOf(error), code: isMirrorError(error) ? error.code : null } };
  } finally {
    clearInterval(watch);
  }
}
