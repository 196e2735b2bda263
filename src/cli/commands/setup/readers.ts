import { existsSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The accounts that may read the mirror's file, in a sentence; for a warning also the remedy. */
interface Readers {
  readonly verdict: 'ok' | 'warning';
  readonly message: string;
}

/**
 * Finds who may read a SQLite mirror, by the modes of the file and of the folders above it. It does not look
 * at access lists and at the members of a group. Null on Windows, which has no modes, and for a file that
 * everyone may read: the configuration warns of that.
 */
export function readersOf(path: string): Readers | null {
  const file = statSync(path);
  if (process.platform === 'win32' || (file.mode & 0o004) !== 0) return null;
  const owner = nameIn('/etc/passwd', file.uid);
  if ((file.mode & 0o040) === 0)
    return { verdict: 'ok', message: `only the account ${owner} may read ${path}` };
  const group = nameIn('/etc/group', file.gid);
  const folder = dirname(path);
  const shut = foldersTo(folder).find((one) => !mayEnter(statSync(one), file.gid));
  const warning = (found: string, advice: string): Readers => ({
    verdict: 'warning',
    message: `${found}; run ${advice}`,
  });
  if (shut !== undefined)
    return warning(
      `the group ${group} may read ${path}, but may not enter ${shut}`,
      `chgrp ${group} ${shut} && chmod g+x ${shut}`,
    );
  if ((file.mode & 0o020) !== 0)
    return warning(`the group ${group} may read ${path}, and may also change it`, `chmod g-w ${path}`);
  if (mayCreateIn(statSync(folder), file.gid))
    return warning(
      `the group ${group} may read ${path}, and create files beside it: a reader that opens the mirror ` +
        'while no daemon runs would leave a log there that the daemon cannot write, and the daemon would ' +
        'not start',
      `chmod g-w ${folder}`,
    );
  const shutFiles = sideFiles(path).filter((one) => !mayRead(statSync(one), file.gid));
  if (shutFiles.length > 0)
    return warning(
      `the group ${group} may read ${path}, but may not read ${shutFiles.join(' and ')}`,
      `chgrp ${group} ${shutFiles.join(' ')} && chmod g+r ${shutFiles.join(' ')}`,
    );
  if (!givesGroup(statSync(folder), file))
    return warning(
      `the group ${group} may read ${path}, but will not read the files that the daemon makes beside it at ` +
        'its next start: they get the group of its account',
      `chgrp ${group} ${folder} && chmod g+xs ${folder}`,
    );
  const message = `the account ${owner}, and while a daemon runs the group ${group}, may read ${path}`;
  return { verdict: 'ok', message };
}

/** The files beside the mirror through which SQLite reads it, as far as they exist. */
function sideFiles(path: string): string[] {
  return [`${path}-wal`, `${path}-shm`].filter((one) => existsSync(one));
}

/**
 * True if SQLite's side files will have the file's group. Only root can give it to them: with another account
 * they have the group of the folder if its set-group bit is set, else the group of the account. Systems other
 * than Linux do as if the bit were set.
 */
function givesGroup(folder: Stats, { uid, gid }: Stats): boolean {
  if (uid === 0 || ownGroup(uid) === gid) return true;
  return folder.gid === gid && (process.platform !== 'linux' || (folder.mode & 0o2000) !== 0);
}

/** The folders from the root to this one. */
function foldersTo(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [...foldersTo(above), folder];
}

function mayRead({ mode, gid }: Stats, group: number): boolean {
  return (mode & (gid === group ? 0o040 : 0o004)) !== 0;
}

function mayEnter({ mode, gid }: Stats, group: number): boolean {
  return (mode & (gid === group ? 0o010 : 0o001)) !== 0;
}

function mayCreateIn({ mode, gid }: Stats, group: number): boolean {
  return (mode & (gid === group ? 0o020 : 0o002)) !== 0;
}

/** The name of an account or a group in a file of names; its number if it has none there. */
function nameIn(file: string, id: number): string {
  return entryIn(file, id)?.[0] ?? String(id);
}

/** The number of an account's own group; null if the account is not in the file of names. */
function ownGroup(account: number): number | null {
  const group = entryIn('/etc/passwd', account)?.[3];
  return group === undefined ? null : Number(group);
}

/** The fields of an account or a group in a file of names. */
function entryIn(file: string, id: number): string[] | undefined {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.map((line) => line.split(':')).find(([, , number]) => number === String(id));
}
