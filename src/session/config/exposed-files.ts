import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Environment } from './environment.ts';

/** The variables that name a file with a secret. */
const SECRET_FILES = ['INBOX_API_KEY_FILE', 'HTTP_TOKEN_FILE', 'DATABASE_URL_FILE', 'WEBHOOK_SECRET_FILE'];

/** The permission of users outside the file's group to read it. */
const OTHERS_READ = 0o004;

/** A warning for each file with a secret, and for the mirror's, if every user of the machine may read it. */
export function exposedFileWarnings(env: Environment, folder: string, databaseUrl: string): string[] {
  const files = SECRET_FILES.map((name) => ({ what: name, path: env[name]?.trim() ?? '' }));
  if (databaseUrl.startsWith('file:')) files.push({ what: 'the mirror', path: databaseUrl.slice(5) });
  return files
    .filter(({ path }) => path !== '')
    .map(({ what, path }) => ({ what, path: resolve(folder, path) }))
    .filter(({ path }) => isExposed(path))
    .map(({ what, path }) => `${what}: every user of this machine may read ${path}; run chmod o-rwx ${path}`);
}

/** Windows has no such permissions: there, every file seems readable. */
function isExposed(path: string): boolean {
  if (process.platform === 'win32') return false;
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS_READ) !== 0;
}
