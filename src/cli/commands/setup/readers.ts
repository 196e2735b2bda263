import { existsSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Who may read the mirror's file, and how to correct it if that does not work. */
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
  const message = `the account ${owner}, and while a daemon runs the group ${group}, may read ${path}`;
  return { verdict: 'ok', message };
}

/** The folders from the root to this one. */
function foldersTo(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [...foldersTo(above), folder];
}

function mayEnter({ mode, gid }: Stats, group: number): boolean {
  return (mode & (gid === group ? 0o010 : 0o001)) !== 0;
}

function mayCreateIn({ mode, gid }: Stats, group: number): boolean {
  return (mode & (gid === group ? 0o020 : 0o002)) !== 0;
}

/** The name of an account or a group in a file of names; its number if it has none there. */
function nameIn(file: string, id: number): string {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return (
    lines.map((line) => line.split(':')).find(([, , number]) => number === String(id))?.[0] ?? String(id)
  );
}
