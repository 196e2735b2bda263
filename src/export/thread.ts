import { extname } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { unlessAborted } from '../core/abortable.ts';
import { type Failure, restoredError } from '../query/sqlite/failure.ts';
import { startThread } from '../query/sqlite/start.ts';
import type { ExportOptions, FileNames, Written } from './write.ts';

/** The memory for new objects, in MB. A group of rows is garbage once it is written, so few grow old. */
const YOUNG_MB = 24;

/** The young generation may grow, which bin/memory.cjs forbids; the old one only to twice what is live. */
const FLAGS = ['--semi-space-growth-factor=2', '--heap-growing-percent=100'] as const;

/** The mirror's file, what to write of it, and the names to write under. */
export interface Task {
  readonly path: string;
  readonly options: Omit<ExportOptions, 'onRows'>;
  readonly names: FileNames;
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
  // The main thread makes little garbage here (docs/decisions/0014).
  for (const flag of FLAGS) setFlagsFromString(flag);
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
