import { extname } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { unlessAborted } from '../core/abortable.ts';
import { type Failure, restoredError } from '../query/sqlite/failure.ts';
import { startThread } from '../query/sqlite/start.ts';
import type { ExportOptions, Written } from './write.ts';

/** For new objects. A group of rows is garbage once it is written: so, little of it grows old. */
const YOUNG_MB = 24;

/** What the thread is to do. */
export interface Task {
  readonly path: string;
  readonly options: Omit<ExportOptions, 'onRows'>;
  /** Of the temporary names of the files. */
  readonly ending: string;
}

/** A message of the thread: its progress, then how it ended. */
export type Report =
  | { readonly table: string; readonly rows: number }
  | { readonly written: Written }
  | Failure;

/**
 * Writes files like `writeFiles` from a SQLite file, in another thread. SQLite's driver has no interrupt. The
 * rows do not leave the thread: to pass one on costs more than to write it.
 */
export async function writeInThread(
  { options: { onRows, ...options }, ...task }: Task & { readonly options: ExportOptions },
  signal: AbortSignal,
): Promise<Written> {
  const file = new URL(`worker${extname(import.meta.filename)}`, import.meta.url);
  const data: Task = { ...task, options };
  // bin/memory.cjs keeps the young generation from growing. The main thread makes little garbage here.
  setFlagsFromString('--semi-space-growth-factor=2');
  const thread = startThread<never, Report>(file, { data, youngMb: YOUNG_MB });
  const { promise: written, resolve, reject } = Promise.withResolvers<Written>();
  thread.onFailure(reject);
  thread.onMessage((report) => {
    if ('rows' in report) onRows(report.table, report.rows);
    else if ('written' in report) resolve(report.written);
    else reject(restoredError(report));
  });
  try {
    return await unlessAborted(written, signal);
  } finally {
    await thread.close();
  }
}
