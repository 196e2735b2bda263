import type { Database } from '../database/database.ts';
import { isPostgres, openDatabase } from '../database/open.ts';
import { sqlitePath } from '../database/sqlite/file.ts';
import type { ReadLimits, ReadOnlyMirror } from './result.ts';

/**
 * Opens the mirror over a connection that cannot write.
 * @param signal stops a running query at any moment; the query then throws the signal's reason
 * @param limits of PostgreSQL's statements and rows
 * @throws MirrorError `USAGE` if there is no mirror yet, `DATABASE` if a newer program has migrated it
 */
export async function openReadOnly(
  url: string,
  signal?: AbortSignal,
  limits?: ReadLimits,
): Promise<ReadOnlyMirror> {
  if (isPostgres(url))
    return await (await import('./postgresql/reader.ts')).openPostgresReadOnly(url, signal, limits);
  const path = sqlitePath(url);
  if (signal !== undefined) return (await import('./sqlite/thread.ts')).openSqliteInThread(path, signal);
  return (await import('./sqlite/reader.ts')).openSqliteReadOnly(path);
}

/**
 * Opens the mirror like `openDatabase`, but creates none.
 * @throws MirrorError `USAGE` if there is no mirror yet
 */
export async function openExisting(url: string): Promise<Database> {
  await (await openReadOnly(url)).close();
  return await openDatabase(url);
}
