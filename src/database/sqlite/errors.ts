import { codeOf, isMirrorError, MirrorError } from '../../core/errors.ts';

/** The file is of another kind. */
const NO_DATABASE = /SQLITE_NOTADB|not a database/i;

/** Damage, or a file that the disk has failed to read: SQLite says the same of both. */
const CORRUPT = /SQLITE_CORRUPT|disk image is malformed|malformed database schema/i;

const DAMAGE = new RegExp(`${NO_DATABASE.source}|${CORRUPT.source}`, 'i');

/** A view that is in the way of a change of its tables. */
const IN_VIEW = /error in view \S+: [^"\n]+/;

const NAME_TAKEN = /(?:table|view) \S+ already exists/;

/** Error texts of SQLite and of Prisma's adapter, with their meaning for the user. The first match wins. */
const CAUSES: [RegExp, string][] = [
  [
    /SocketTimeout|SQLITE_BUSY|database is locked/i,
    'is locked by another program. Nothing is lost; ' +
      'close the program that has it open for writing, then run the command again',
  ],
  [
    // SHMSIZE: the file -shm cannot get its first 32 KiB.
    /SQLITE_FULL|SQLITE_IOERR_SHMSIZE|database or disk is full/i,
    'cannot grow: the disk is full. Nothing is lost; free some space and run the command again',
  ],
  [
    /SQLITE_READONLY|readonly database/i,
    'is read-only here. Make the file, the files -wal and -shm beside it and their folder writable, ' +
      'or set DATABASE_URL to another path',
  ],
  [NO_DATABASE, 'is not an SQLite database. Set DATABASE_URL to another file'],
  [
    CORRUPT,
    'is damaged, or the disk has failed to read it. First run the command again, or restart the daemon. ' +
      'If that fails too, restore a backup; without one, move the file away and run `inbox-mirror sync` ' +
      'for a new copy, which has no history',
  ],
  [
    /SQLITE_CANTOPEN|unable to open/i,
    'cannot be opened. Check that the path in DATABASE_URL exists and that you may read and write it',
  ],
  [
    /SQLITE_IOERR_SHORT_READ/,
    'ends too early. Its file, or the file -wal beside it, was deleted or cut while a program had it open. ' +
      'Stop every program that has it open, then run the command again',
  ],
  [
    IN_VIEW,
    'has a view of your own that reads a view of the mirror, and this program must replace that one. ' +
      'Nothing was changed; drop your view, run the command again, then create it again',
  ],
  [
    NAME_TAKEN,
    'has another program’s table or view with a name that the mirror needs. ' +
      'Rename it, or set DATABASE_URL to another file',
  ],
  [
    /SQLITE_IOERR|disk I\/O/i,
    'cannot be read or written: the disk reports an error. Nothing that was applied is lost; check the disk',
  ],
];

/**
 * A known database failure as a `DATABASE` error with a message for the user; every other error unchanged.
 */
export function asSqliteError(error: unknown, name: string): unknown {
  if (error instanceof MirrorError || !(error instanceof Error)) return error;
  const text = textOf(error);
  const known = CAUSES.find(([pattern]) => pattern.test(text));
  if (known === undefined) return error;
  const named = IN_VIEW.exec(text) ?? NAME_TAKEN.exec(text);
  return new MirrorError(
    'DATABASE',
    `The database ${name} ${known[1]}${named === null ? '' : ` (${named[0]})`}.`,
    {
      isDamage: DAMAGE.test(text),
      mayBeWhole: DAMAGE.test(text),
      cause: error,
    },
  );
}

/** The same while a file is opened: there one that is no database is a wrong DATABASE_URL, thus `CONFIG`. */
export function asOpeningError(thrown: unknown, name: string): unknown {
  const error = asSqliteError(thrown, name);
  if (!isMirrorError(error) || !(error.cause instanceof Error)) return error;
  const { message, cause, isDamage } = error;
  return NO_DATABASE.test(textOf(cause)) ? new MirrorError('CONFIG', message, { isDamage, cause }) : error;
}

function textOf(error: Error): string {
  return `${error.name} ${error.message} ${codeOf(error) ?? ''} ${JSON.stringify(error.cause ?? '')}`;
}
