import { accessSync, constants, existsSync, type Stats, statSync } from 'node:fs';
import { codeOf, messageOf, MirrorError } from '../../core/errors.ts';
import { noMirrorYet } from '../faults.ts';

/** Where the modes stand that let another account read the file. */
const ADVICE = 'docs/sql.md, "Another account of the machine"';

/** Faults of the disk, the mount or the machine. They may pass, and no configuration ends them. */
const OF_THE_MACHINE = new Set(['EIO', 'ESTALE', 'ENOTCONN', 'ETIMEDOUT', 'EMFILE', 'ENFILE', 'ENOMEM']);

/** @throws MirrorError `USAGE` without a mirror, or as {@link isReadable} */
export function checkReadable(path: string): void {
  if (!isReadable(path)) throw noMirrorYet(path);
}

/**
 * True for a file that this account may read; false if there is none.
 * @throws MirrorError `USAGE` if this account may not read it, or it is not a file; `DATABASE` if it cannot
 *   be looked at now
 */
export function isReadable(path: string): boolean {
  let stats: Stats;
  try {
    accessSync(path, constants.R_OK);
    stats = statSync(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
    throw cannotRead(path, error);
  }
  if (stats.isDirectory())
    throw new MirrorError(
      'USAGE',
      `${path} is a folder. Set DATABASE_URL to a file in it, such as mirror.db.`,
    );
  // SQLite would wait for ever for the writer of a pipe.
  if (!stats.isFile())
    throw new MirrorError('USAGE', `${path} is not a file. Set DATABASE_URL to one, such as mirror.db.`);
  return true;
}

/** The error for a file that cannot be looked at. */
export function cannotRead(path: string, cause: unknown): MirrorError {
  const isOfMachine = OF_THE_MACHINE.has(codeOf(cause) ?? '');
  const advice = isOfMachine
    ? 'Check the disk, the mount and the limits of the machine'
    : `Ask its owner for access (${ADVICE}), or correct DATABASE_URL`;
  return new MirrorError(
    isOfMachine ? 'DATABASE' : 'USAGE',
    `The mirror ${path} cannot be read: ${messageOf(cause)}. ${advice}.`,
    { cause },
  );
}

/** SQLite must create its two side files, and this account may not; or it may not read those that exist. */
export function noSideFiles(path: string, cause: unknown): MirrorError {
  const shut = [`${path}-wal`, `${path}-shm`].find((file) => existsSync(file) && !mayRead(file));
  const [found, advice] =
    shut === undefined
      ? [
          'no process has it open, and this account may not create the files ' +
            'beside it that SQLite then needs',
          'Start the daemon, or read a copy',
        ]
      : [
          `this account may not read ${shut}, which SQLite needs`,
          'Ask its owner for access to the files that SQLite makes',
        ];
  return new MirrorError('USAGE', `The mirror cannot be read now: ${found}. ${advice} (${ADVICE}).`, {
    cause,
  });
}

function mayRead(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
