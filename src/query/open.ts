import type { Database } from '../database/database.ts';
import { isPostgres, openDatabase } from '../database/open.ts';
import { sqlitePath } from '../database/sqlite/file.ts';
import { noMirrorYet } from './faults.ts';
import type { ReadLimits, ReadOnlyMirror } from './result.ts';

/** The path of a mirror's file; null on PostgreSQL. */
export function sqliteFile(url: string): string | null {
  return isPostgres(url) ? null : sqlitePath(url);
}

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
  const path = sqliteFile(url);
  if (path === null)
    return await (await import('./postgresql/reader.ts')).openPostgresReadOnly(url, signal, limits);
  if (signal !== undefined) return (await import('./sqlite/thread.ts')).openSqliteInThread(path, signal);
  return (await import('./sqlite/reader.ts')).openSqliteReadOnly(path);
}

/**
 * Opens the mirror for a command that reads it for long. On SQLite the connection cannot write: one that can
 * would write its old log into a file that a person puts in place of the mirror.
 * @throws MirrorError `USAGE` if there is no mirror yet
 */
export async function openToRead(url: string): Promise<Database> {
  const database = await openExisting(url);
  if (isPostgres(url)) return database;
  // The tables of an earlier release are migrated now.
  await database.close();
  return await (await import('../database/sqlite/open.ts')).openSqliteForReading(url, noMirrorYet);
}

/**
 * Opens the mirror like `openDatabase`, but creates none.
 * @throws MirrorError `USAGE` if there is no mirror yet
 */
export async function openExisting(url: string): Promise<Database> {
  await (await openReadOnly(url)).close();
  return await openDatabase(url, { leavesLog: true });
}
