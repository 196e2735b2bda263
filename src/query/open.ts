import type { Database } from '../database/database.ts';
import { isPostgres, openDatabase } from '../database/open.ts';
import { sqlitePath } from '../database/sqlite/file.ts';
import type { ReadOnlyMirror } from './result.ts';

/**
 * Opens the mirror for reading only.
 * @param signal ends what is being asked at any moment, with its reason as the error
 * @throws MirrorError `USAGE` where there is no mirror yet, `DATABASE` where a newer program has made it
 */
export async function openReadOnly(url: string, signal?: AbortSignal): Promise<ReadOnlyMirror> {
  if (isPostgres(url)) return await (await import('./postgresql.ts')).openPostgresReadOnly(url, signal);
  const path = sqlitePath(url);
  if (signal !== undefined) return (await import('./sqlite/thread.ts')).openSqliteInThread(path, signal);
  return (await import('./sqlite/reader.ts')).openSqliteReadOnly(path);
}

/**
 * As `openDatabase`, for whoever only looks and so makes no mirror.
 * @throws MirrorError `USAGE` where there is none yet
 */
export async function openExisting(url: string): Promise<Database> {
  await (await openReadOnly(url)).close();
  return await openDatabase(url);
}
