import { MirrorError } from '../../core/errors.ts';

/** What SQLite and Prisma's adapter say, against what it means to a person. First match wins. */
const CAUSES: [RegExp, string][] = [
  [
    /SocketTimeout|SQLITE_BUSY|database is locked/i,
    'is locked by another program. Nothing is lost; close what holds it open for writing and run the command again',
  ],
  [
    /SQLITE_FULL|database or disk is full/i,
    'cannot grow: the disk is full. Nothing is lost; free some space and run the command again',
  ],
  [
    /SQLITE_READONLY|readonly database/i,
    'is read-only here. Make the file and its folder writable, or set DATABASE_URL to another place',
  ],
  [/SQLITE_NOTADB|not a database/i, 'is not an SQLite database. Set DATABASE_URL to another file'],
  [/SQLITE_CORRUPT|malformed/i, 'is damaged. Move it away and run `inbox-mirror sync` for a new copy'],
  [
    /SQLITE_CANTOPEN|unable to open/i,
    'cannot be opened. Check that the path of DATABASE_URL exists and may be read and written',
  ],
  [
    /SQLITE_IOERR|disk I\/O/i,
    'cannot be read or written: the disk reports an error. Nothing that was applied is lost; check the disk',
  ],
];

/** A database failure as a sentence; anything that is no database failure comes back as it is. */
export function asDatabaseError(error: unknown, name: string): unknown {
  if (error instanceof MirrorError || !(error instanceof Error)) return error;
  const text = `${error.name} ${error.message} ${'code' in error ? String(error.code) : ''} ${JSON.stringify(error.cause ?? '')}`;
  const known = CAUSES.find(([pattern]) => pattern.test(text));
  return known === undefined
    ? error
    : new MirrorError('DATABASE', `The database ${name} ${known[1]}.`, { cause: error });
}
