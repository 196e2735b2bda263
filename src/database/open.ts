import type { Database } from './database.ts';

/**
 * Opens the mirror, makes it and brings its tables up to date where needed (DESIGN.md, "Environment"). Each provider's part is loaded only
 * where it is used.
 * @param url `file:…` or `postgresql://…`
 * @param busyTimeoutMs how long a statement waits for another program's lock on a file; the whole process stands still meanwhile. A server is waited for without standing still.
 * @throws MirrorError `DATABASE` where it cannot be opened, is locked, or was made by a newer program.
 */
export async function openDatabase(url: string, busyTimeoutMs = 10_000): Promise<Database> {
  if (isPostgres(url)) return await (await import('./postgresql/open.ts')).openPostgres(url);
  return await (await import('./sqlite/open.ts')).openSqlite(url, busyTimeoutMs);
}

/** Which database an address names. */
export function isPostgres(url: string): boolean {
  return /^postgres(ql)?:/.test(url);
}
