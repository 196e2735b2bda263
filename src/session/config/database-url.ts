import { resolve } from 'node:path';
import type { Environment } from './environment.ts';
import { readSecret } from './secrets.ts';

/** `file:` with an absolute path, or a PostgreSQL server's address. What it says is not shown in a fault: it may hold a password. */
export function readDatabaseUrl(env: Environment, folder: string, faults: string[]): string {
  const { text, name } = readSecret(env, folder, 'DATABASE_URL', faults);
  const url = text === '' ? 'file:./mirror.db' : text;
  if (/^file:./.test(url)) return `file:${resolve(folder, url.replace(/^file:(\/\/(?=\/))?/, ''))}`;
  const fault = postgresFault(url);
  if (fault !== null) faults.push(`${name}: ${fault}; its value is not shown here`);
  return url;
}

/** Why an address is none of a PostgreSQL database; null where it is one. */
function postgresFault(text: string): string | null {
  const expected = 'file:PATH, such as file:./mirror.db, or postgresql://USER:PASSWORD@HOST/DATABASE';
  if (!/^postgres(ql)?:\/\//.test(text)) return `expected ${expected}`;
  if (!URL.canParse(text)) return 'is no address; special characters in user and password are written as %XX';
  const { username, password, pathname, searchParams, hash } = new URL(text);
  if (![username, password, pathname].every(isUtf8))
    return 'has a % that begins no character of UTF-8 written as %XX; a % itself is written as %25';
  if (hash !== '') return 'has a #, which is written as %23';
  if (!/^\/[^/]+$/.test(pathname)) return `names no database; expected ${expected}`;
  const schema = searchParams.get('schema');
  if (schema !== null && !/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/i.test(schema))
    return 'expected the schema to be of letters, digits and _, not to begin with a digit or pg_, and to have 63 characters at most';
  return null;
}

/** Whether everything that is written as %XX in it can be read. */
function isUtf8(encoded: string): boolean {
  try {
    decodeURIComponent(encoded);
    return true;
  } catch {
    return false;
  }
}
