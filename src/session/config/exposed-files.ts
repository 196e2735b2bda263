import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SANDBOX_KEY } from '../../core/secrets.ts';
import type { Environment, EnvFile } from './environment.ts';

/** The variables that name a file with a secret. */
const SECRET_FILES = ['INBOX_API_KEY_FILE', 'HTTP_TOKEN_FILE', 'DATABASE_URL_FILE', 'WEBHOOK_SECRET_FILE'];

/** The variables that are secrets. */
const SECRETS = new Set(['INBOX_API_KEY', 'HTTP_TOKEN', 'WEBHOOK_SECRET']);

/** The permission of users outside the file's group to read it. */
const OTHERS_READ = 0o004;

/**
 * A warning for each file with a secret, and for the mirror's, if every user of the machine may read it.
 * @param envFile null: the command reads no `.env`
 */
export function exposedFileWarnings(
  env: Environment,
  folder: string,
  { databaseUrl, envFile }: { databaseUrl: string; envFile: EnvFile | null },
): string[] {
  const files = SECRET_FILES.map((name) => ({ what: name, path: env[name]?.trim() ?? '', has: '' }));
  if (databaseUrl.startsWith('file:'))
    files.push({ what: 'the mirror', path: databaseUrl.slice(5), has: '' });
  const secrets = Object.entries(envFile?.variables ?? {}).filter(isSecret);
  if (envFile !== null && secrets.length > 0) {
    const has = `, which has ${secrets.map(([name]) => name).join(' and ')}`;
    files.push({ what: '.env', path: envFile.path, has });
  }
  return files
    .filter(({ path }) => path !== '')
    .map(({ path, ...words }) => ({ path: resolve(folder, path), ...words }))
    .filter(({ path }) => isExposed(path))
    .map(
      ({ what, path, has }) =>
        `${what}: every user of this machine may read ${path}${has}; run chmod o-rwx ${path}`,
    );
}

/** True for a secret, and for an address with a password, of a database or of a proxy. */
function isSecret([name, value = '']: [string, string | undefined]): boolean {
  const text = value.trim();
  if (SECRETS.has(name)) return text !== '' && text !== SANDBOX_KEY;
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && (url.password !== '' || url.searchParams.has('password'));
}

/** Windows has no such permissions: there, every file seems readable. */
function isExposed(path: string): boolean {
  if (process.platform === 'win32') return false;
  try {
    return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS_READ) !== 0;
  } catch {
    // This account may not enter its folder; the command that opens the file says so.
    return false;
  }
}
