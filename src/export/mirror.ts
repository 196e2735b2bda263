import { openReadOnly, sqliteFile } from '../query/open.ts';
import { exportTables } from './export.ts';
import type { ExportRun } from './manifest.ts';
import type { ExportOptions } from './write.ts';
import { exportInThread } from './thread.ts';

/** Exports from a mirror's database. `signal` stops it at any moment; no file then has changed. */
export async function exportMirror(
  url: string,
  options: ExportOptions,
  signal: AbortSignal,
): Promise<ExportRun> {
  const file = sqliteFile(url);
  if (file !== null) return await exportInThread(file, options, signal);
  const mirror = await openReadOnly(url, signal);
  try {
    return await exportTables(mirror, options);
  } finally {
    await mirror.close();
  }
}
