import { accessSync, constants, statSync } from 'node:fs';
import { codeOf, messageOf, MirrorError } from '../../core/errors.ts';
import { noMirrorYet } from '../faults.ts';

/** Where the modes stand that let another account read the file. */
const ADVICE = 'docs/sql.md, "Another account of the machine"';

/** @throws MirrorError `USAGE` if there is no mirror yet, this account may not read it, or it is a folder */
export function checkReadable(path: string): void {
  let isFolder: boolean;
  try {
    accessSync(path, constants.R_OK);
    isFolder = statSync(path).isDirectory();
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') throw noMirrorYet(path);
    throw new MirrorError(
      'USAGE',
      `The mirror ${path} cannot be read: ${messageOf(error)}. Ask its owner for access (${ADVICE}), ` +
        'or correct DATABASE_URL.',
      { cause: error },
    );
  }
  if (isFolder)
    throw new MirrorError(
      'USAGE',
      `${path} is a folder. Set DATABASE_URL to a file in it, such as mirror.db.`,
    );
}

/** SQLite must create its two side files, and this account may not. */
export function noSideFiles(cause: unknown): MirrorError {
  return new MirrorError(
    'USAGE',
    'The mirror cannot be read now: no process has it open, and this account may not create the files ' +
      `beside it that SQLite then needs. Start the daemon, or read a copy (${ADVICE}).`,
    { cause },
  );
}
