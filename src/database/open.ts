import type { Database } from './database.ts';

/**
 * Opens the mirror. Creates it, or migrates its tables, where needed. Loads only the code of the database in
 * use.
 * @param url `file:…` or `postgresql://…`
 * @param busyTimeoutMs on SQLite, how long a statement waits for another program's lock; meanwhile the whole
 *   process is blocked. PostgreSQL has its own lock timeout and blocks nothing.
 * @param leavesLog on SQLite, for a command that only reads: closing it saves and deletes no log, except as
 *   SQLite does
 * @throws MirrorError `DATABASE` if it cannot be opened, is locked, or a newer program has migrated it;
 *   `CONFIG` if it is no database or another program's
 */
export async function openDatabase(
  url: string,
  { busyTimeoutMs = 10_000, leavesLog = false } = {},
): Promise<Database> {
  if (isPostgres(url)) return await (await import('./postgresql/open.ts')).openPostgres(url);
  return await (await import('./sqlite/open.ts')).openSqlite(url, { busyTimeoutMs, leavesLog });
}

/** Whether an address names a PostgreSQL server. */
export function isPostgres(url: string): boolean {
  return /^postgres(ql)?:/.test(url);
}
