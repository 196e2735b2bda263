import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils';
import { statementsOn } from '../adapter.ts';
import { sqlite } from './dialect.ts';
import type { OpenFiles } from './file.ts';

/** Watches the files of an open database, and closes it. */
export interface Keeper {
  lost(): string | null;
  endWrites(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Saves the write-ahead log of a database into its file where SQLite would not: when no file has its name
 * any more, and when this program closes it and another still has it open. If that fails, no error is thrown:
 * the log stays as it is, and the next statement that needs the disk reports the fault.
 */
export function keepLog(connection: SqlDriverAdapter, files: OpenFiles): Keeper {
  const { query, execute } = statementsOn(connection, sqlite);
  /** @returns whether the file has all of the log; false while a reader needs old rows */
  const save = async (mode: 'PASSIVE' | 'TRUNCATE'): Promise<boolean> => {
    type Counts = { readonly log: number; readonly checkpointed: number };
    const [pages] = await query<Counts>(`PRAGMA wal_checkpoint(${mode})`);
    // Both are -1 while another program saves the log.
    return pages !== undefined && pages.log >= 0 && pages.log === pages.checkpointed;
  };
  /**
   * Waits for no other program. Writers wait for the second step only, which is short. A connection that has
   * written nothing leaves the log to the others.
   */
  const saveAndEmpty = async (): Promise<boolean> => {
    const [rows] = await query<{ readonly written: number }>('SELECT total_changes() AS written');
    if (rows?.written === 0) return false;
    await execute('PRAGMA busy_timeout = 0');
    return (await save('PASSIVE')) && (await save('TRUNCATE'));
  };
  let writes = true;
  /**
   * For a file without a name. It waits for no lock. A new file of that name would share the log, so the log
   * is deleted, but only by a program that writes no more: what is written into a deleted log, SQLite saves
   * when it closes the file. If the file is back by then, others may have written there.
   */
  const saveNameless = async (): Promise<void> => {
    const isLast = !writes;
    if ((await save('PASSIVE')) && isLast && files.atName() === 'none') files.removeSides();
  };
  return {
    lost() {
      const path = files.lost();
      const atName = files.atName();
      // A log that is not saved stays: a person may put the file back, which needs it.
      if (atName === 'none') void saveNameless().catch(() => undefined);
      // SQLite would read the log into the other file. It is not saved: the other file's user may share it.
      if (atName === 'another') files.removeSides();
      return path;
    },
    async endWrites() {
      await execute('PRAGMA query_only = ON');
      writes = false;
    },
    async close() {
      // A log that was deleted, or that the user of another file may share, is not saved: the file could be
      // damaged.
      const isShared = files.atName() === 'none' || files.lost() === null;
      const isSaved = isShared && (await saveAndEmpty().catch(() => false));
      await connection.dispose();
      const atName = files.atName();
      if (atName === 'another' || (atName === 'none' && isSaved)) files.removeSides();
    },
  };
}

/** For a command that only reads: it saves and deletes no log. */
export function leaveLog(connection: SqlDriverAdapter, { lost }: Pick<OpenFiles, 'lost'>): Keeper {
  return { lost, endWrites: () => Promise.resolve(), close: () => connection.dispose() };
}
