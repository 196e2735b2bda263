import { realpathSync, type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SANDBOX_KEY } from '../../core/secrets.ts';
import type { Environment, EnvFile } from './environment.ts';

/** The variables that name a file with a secret. */
const SECRET_FILES = ['INBOX_API_KEY_FILE', 'HTTP_TOKEN_FILE', 'DATABASE_URL_FILE', 'WEBHOOK_SECRET_FILE'];

/** The variables that are secrets. */
const SECRETS = new Set(['INBOX_API_KEY', 'HTTP_TOKEN', 'WEBHOOK_SECRET']);

/** The permission of users outside the file's group to read it. */
const OTHERS_READ = 0o004;

/** The permission of the file's group to read it. */
const GROUP_READS = 0o040;

/**
 * A warning for each file with a secret, and for the mirror's, if every user of the machine may read it; and
 * for a mirror with two names.
 * @param envFile null: the command reads no `.env`
 */
export function exposedFileWarnings(
  env: Environment,
  folder: string,
  { databaseUrl, envFile }: { databaseUrl: string; envFile: EnvFile | null },
): string[] {
  const files = SECRET_FILES.map((name) => ({ what: name, path: env[name]?.trim() ?? '', has: '' }));
  const secrets = Object.entries(envFile?.variables ?? {}).filter(isSecret);
  if (envFile !== null && secrets.length > 0) {
    const has = `, which has ${secrets.map(([name]) => name).join(' and ')}`;
    files.push({ what: '.env', path: envFile.path, has });
  }
  const ofMirror = databaseUrl.startsWith('file:')
    ? mirrorWarnings(resolve(folder, databaseUrl.slice(5)))
    : [];
  return [
    ...files
      .filter(({ path }) => path !== '')
      .map(({ path, ...words }) => ({ path: resolve(folder, path), ...words }))
      .filter(({ path }) => isExposed(stateOf(path)))
      .map(({ what, path, has }) => `${what}: ${exposed(path, has)}`),
    ...ofMirror,
  ];
}

/** Of a mirror that every user may read, the files beside it get the same mode: they need no warning. */
function mirrorWarnings(path: string): string[] {
  const mirror = stateOf(path);
  const found = isExposed(mirror) ? [exposed(path)] : sideFileWarnings(path, mirror);
  if ((mirror?.nlink ?? 1) > 1)
    found.push(
      `${path} has ${mirror?.nlink} names (hard links), and SQLite keeps a log beside each: programs that ` +
        'open it by different names damage it; remove the others',
    );
  return found.map((warning) => `the mirror: ${warning}`);
}

/**
 * SQLite makes its files with the mode of the mirror. It uses one that another user made before, who then
 * reads what is written there.
 */
function sideFileWarnings(path: string, mirror: Stats | undefined): string[] {
  // SQLite keeps them beside the file behind a link.
  const target = behindLinks(path);
  return ['-wal', '-shm'].flatMap((side) => {
    const file = stateOf(target + side);
    if (isExposed(file)) return [exposed(target + side)];
    if (mirror === undefined || file === undefined || !isOfAnother(file, mirror)) return [];
    return [
      `another account than that of ${target} owns ${target + side} and may read it; ` +
        `run chown --reference=${target} ${target + side} as root`,
    ];
  });
}

/** The path behind links; the same for a file that is not there, or no longer. */
function behindLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Root may read everything. Of a mirror that a group reads, `doctor` judges the files. */
function isOfAnother(file: Stats, mirror: Stats): boolean {
  return file.uid !== mirror.uid && file.uid !== 0 && (mirror.mode & GROUP_READS) === 0;
}

function exposed(path: string, has = ''): string {
  return `every user of this machine may read ${path}${has}; run chmod o-rwx ${path}`;
}

/** True for a secret, and for an address with a password, of a database or of a proxy. */
function isSecret([name, value = '']: [string, string | undefined]): boolean {
  const text = value.trim();
  if (SECRETS.has(name)) return text !== '' && text !== SANDBOX_KEY;
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && (url.password !== '' || url.searchParams.has('password'));
}

/** Windows has no such permissions: there, every file seems readable. */
function isExposed(file: Stats | undefined): boolean {
  return process.platform !== 'win32' && file !== undefined && (file.mode & OTHERS_READ) !== 0;
}

/** Undefined for a missing file, and for one whose folder this account may not enter. */
function stateOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // The command that opens the file says so.
    return undefined;
  }
}
