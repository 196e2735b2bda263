import { extname } from 'node:path';
import type { ReadOnlyMirror } from '../result.ts';
import { checkReadable } from './readable.ts';
import { type Message, mirrorThrough, type Reply } from './requests.ts';
import { startThread } from './start.ts';

/** The thread passes its rows on and keeps none. */
const YOUNG_MB = 4;

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
  const file = new URL(`worker${extname(import.meta.filename)}`, import.meta.url);
  const data: ThreadData = { path, mostCharacters };
  return mirrorThrough(startThread<Message, Reply>(file, { data, youngMb: YOUNG_MB }), signal);
}
