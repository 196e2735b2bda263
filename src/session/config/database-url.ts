import { resolve } from 'node:path';
import { isPostgres } from '../../database/open.ts';
import { weakSslMode } from '../../database/postgresql/address.ts';
import { nearest } from '../../query/nearest.ts';
import type { Environment } from './environment.ts';
import { readSecret } from './secrets.ts';

/** The parameters of an address that node-postgres reads, as words. It ignores any other. */
const READ_BY_DRIVER =
  'host port user password options client_encoding application_name fallback_application_name ssl sslmode ' +
  'sslrootcert sslcert sslkey sslnegotiation uselibpqcompat statement_timeout query_timeout lock_timeout ' +
  'idle_in_transaction_session_timeout';

/** Parameters of libpq and Prisma that hosts of databases write into their addresses. They have no effect. */
const HARMLESS =
  'connect_timeout channel_binding target_session_attrs gssencmode keepalives pgbouncer connection_limit ' +
  'pool_timeout';

/** The values of `sslmode` that node-postgres knows. It would take any other for one of them. */
const SSL_MODES: readonly string[] = [
  'disable',
  'no-verify',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
];

const PARAMETERS = `schema ${READ_BY_DRIVER} ${HARMLESS}`.split(' ');

/** `file:` with an absolute path, or a PostgreSQL address. No fault shows it: it may hold a password. */
export function readDatabaseUrl(env: Environment, folder: string, faults: string[]): string {
  const { text, name } = readSecret(env, folder, 'DATABASE_URL', faults);
  const url = text === '' ? 'file:./mirror.db' : text;
  const isFile = /^file:[^\0]+$/.test(url);
  const fault = isFile ? fileFault(url) : postgresFault(url);
  if (fault !== null) faults.push(`${name}: ${fault}; its value is not shown here`);
  return isFile ? `file:${resolve(folder, url.replace(/^file:(\/\/(?=\/))?/, ''))}` : url;
}

/** Other programs read parameters there. They would open another file than the one that has the `?`. */
function fileFault(url: string): string | null {
  if (/^file:\s*[a-z]+:\/\//i.test(url))
    return 'has file: before an address of another kind; leave out file:';
  return /\?[^/]*$/.test(url)
    ? 'has a ?; the address of a file takes no parameters, so leave out the ? and what follows it'
    : null;
}

const ESCAPE = 'write special characters in user and password as %XX';

/** A fault of the host in forms that libpq reads and the driver does not; null if there is none. */
function hostsFault(text: string): string | null {
  const [, at, host = ''] = /^\w+:\/\/(?:[^/?#]*(@))?([^/?#]*)/.exec(text) ?? [];
  if (host.includes(',')) return 'has a comma in its host, and only one host is possible';
  return at !== undefined && host === ''
    ? 'names no host after the @; with host=/FOLDER write @localhost there'
    : null;
}

/** Why the text is not the address of a PostgreSQL database; null if it is one. */
function postgresFault(text: string): string | null {
  const expected = 'file:PATH, such as file:./mirror.db, or postgresql://USER:PASSWORD@HOST/DATABASE';
  if (!/^postgres(ql)?:\/\//.test(text)) return `expected ${expected}`;
  const hosts = hostsFault(text);
  if (hosts !== null) return `${hosts}; ${ESCAPE}`;
  if (!URL.canParse(text)) return `is not an address; ${ESCAPE}`;
  const { username, password, pathname, searchParams, hash } = new URL(text);
  if (![username, password, pathname].every(isUtf8))
    return 'contains an invalid %-escape; write a literal % as %25';
  if (hash !== '') return 'contains a #; write it as %23';
  if (!/^\/[^/]+$/.test(pathname)) return `names no database; expected ${expected}`;
  for (const name of searchParams.keys()) if (!PARAMETERS.includes(name)) return unknownParameter(name);
  const sslMode = searchParams.getAll('sslmode').at(-1);
  if (sslMode !== undefined && !SSL_MODES.includes(sslMode))
    return `has an unknown sslmode; expected one of ${SSL_MODES.join(', ')}`;
  const schema = searchParams.get('schema');
  if (schema !== null && !/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/i.test(schema))
    return 'expected a schema of at most 63 letters, digits and _ that does not begin with a digit or pg_';
  return null;
}

/** A warning if the address says less about the server's certificate than the program checks. */
export function sslModeWarnings(databaseUrl: string): string[] {
  const mode = isPostgres(databaseUrl) ? weakSslMode(new URL(databaseUrl)) : null;
  if (mode === null) return [];
  return [
    `DATABASE_URL: sslmode=${mode} checks the server’s certificate, as verify-full does. ` +
      `Write sslmode=verify-full, or for libpq’s weaker check uselibpqcompat=true&sslmode=${mode}.`,
  ];
}

/** It does not show the name: after an & in a password, the name is a part of the password. */
function unknownParameter(name: string): string {
  const known = PARAMETERS.find((parameter) => parameter === name.toLowerCase());
  const closest = known ?? nearest(name, PARAMETERS, 1)[0];
  return closest === undefined
    ? `has an unknown parameter; known are ${PARAMETERS.join(', ')}; write & in a value as %26`
    : `has an unknown parameter; did you mean ${closest}?`;
}

/** True if every %XX sequence decodes as UTF-8. The build would drop a call whose value is not used. */
export function isUtf8(encoded: string): boolean {
  try {
    return decodeURIComponent(encoded).isWellFormed();
  } catch {
    return false;
  }
}
