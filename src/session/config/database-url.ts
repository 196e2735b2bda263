import { resolve } from 'node:path';
import type { Environment } from './environment.ts';
import { readSecret } from './secrets.ts';

/** `file:` with an absolute path, or a PostgreSQL address. No fault shows it: it may hold a password. */
export function readDatabaseUrl(env: Environment, folder: string, faults: string[]): string {
  const { text, name } = readSecret(env, folder, 'DATABASE_URL', faults);
  const url = text === '' ? 'file:./mirror.db' : text;
  if (/^file:./.test(url)) return `file:${resolve(folder, url.replace(/^file:(\/\/(?=\/))?/, ''))}`;
  const fault = postgresFault(url);
  if (fault !== null) faults.push(`${name}: ${fault}; its value is not shown here`);
  return url;
}

/** Why the text is not the address of a PostgreSQL database; null if it is one. */
function postgresFault(text: string): string | null {
  const expected = 'file:PATH, such as file:./mirror.db, or postgresql://USER:PASSWORD@HOST/DATABASE';
  if (!/^postgres(ql)?:\/\//.test(text)) return `expected ${expected}`;
  if (!URL.canParse(text)) return 'is not an address; write special characters in user and password as %XX';
  const { username, password, pathname, searchParams, hash } = new URL(text);
  if (![username, password, pathname].every(isUtf8))
    return 'contains an invalid %-escape; write a literal % as %25';
  if (hash !== '') return 'contains a #; write it as %23';
  if (!/^\/[^/]+$/.test(pathname)) return `names no database; expected ${expected}`;
  const schema = searchParams.get('schema');
  if (schema !== null && !/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/i.test(schema))
    return 'expected a schema of at most 63 letters, digits and _ that does not begin with a digit or pg_';
  return null;
}

/** True if every %XX sequence decodes as UTF-8. */
function isUtf8(encoded: string): boolean {
  try {
    decodeURIComponent(encoded);
    return true;
  } catch {
    return false;
  }
}
