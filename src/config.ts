import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { validate as isCron } from 'node-cron';
import { MirrorError } from './core/errors.ts';
import type { ListName } from './core/lists.ts';
import { misspeltVariables } from './core/misspelt.ts';

/** Everything that the environment says, checked (DESIGN.md, "Environment"). */
export interface Config {
  /** Without a slash at its end; null where no command that talks to the service was asked for. */
  readonly apiUrl: string | null;
  readonly key: string | null;
  readonly databaseUrl: string;
  readonly requestsPerSecond: number;
  readonly requestsPerDay: number;
  readonly requestsReserved: number;
  readonly pageSize: number;
  readonly schedules: Readonly<Record<ListName, string>>;
  readonly timezone: string;
  /** In which time zone the views cut days. */
  readonly reportTimezone: string;
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** Further names under which the endpoints may be asked for, in lower case. */
    readonly allowedHosts: readonly string[];
  };
  /** Where changes are delivered to; null where nowhere. */
  readonly webhook: { readonly url: string; readonly secret: string } | null;
  readonly logLevel: LogLevel;
  readonly storePublicPermalink: boolean;
  /** A sentence for each variable that looks like a slip of one of these, and so does nothing. */
  readonly misspelt: readonly string[];
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

type Environment = Readonly<Record<string, string | undefined>>;

/** The process's environment over the `.env` file in `folder`, where there is one. */
export function readEnvironment(env: Environment, folder: string): Environment {
  const file = join(folder, '.env');
  if (!existsSync(file)) return env;
  try {
    return { ...parseEnv(readFileSync(file, 'utf8')), ...env };
  } catch (error) {
    throw new MirrorError(
      'CONFIG',
      `Cannot read ${file}: ${error instanceof Error ? error.message : String(error)}.`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Reads and checks every variable.
 * @param folder relative paths start here
 * @param needs whether the command talks to the service, and so needs address and key
 * @throws MirrorError `CONFIG` that names every bad variable at once, never the key's value
 */
export function readConfig(environment: Environment, folder: string, needs: { service: boolean }): Config {
  const faults: string[] = [];
  const known = new Set<string>();
  // What is read below is what there is: so no second list of the names can fall behind.
  const env = new Proxy(environment, {
    get(target, name) {
      if (typeof name === 'string') known.add(name);
      return typeof name === 'string' ? target[name] : undefined;
    },
  });
  const read = reader(env, faults);
  const number = (name: string, fallback: number, least: number, most: number, whole: boolean): number =>
    read(name, fallback, `${whole ? 'a whole number' : 'a number'} from ${least} to ${most}`, (text) => {
      const value = Number(text);
      return /^\d*\.?\d+$/.test(text) &&
        (!whole || Number.isInteger(value)) &&
        value >= least &&
        value <= most
        ? value
        : undefined;
    });
  const config: Omit<Config, 'misspelt'> = {
    apiUrl: readApiUrl(read, env, needs.service, faults),
    key: readKey(env, folder, needs.service, faults),
    databaseUrl: readDatabaseUrl(env, folder, faults),
    requestsPerSecond: number('REQUESTS_PER_SECOND', 1, 0.001, 10_000, false),
    requestsPerDay: number('REQUESTS_PER_DAY', 5000, 1, 1_000_000_000, true),
    requestsReserved: number('REQUESTS_RESERVED', 250, 0, 1_000_000_000, true),
    // The service's answer to a limit outside these is not known (spec §4.2, §4.3).
    pageSize: number('PAGE_SIZE', 100, 10, 100, true),
    schedules: {
      inboxes: readSchedule(read, 'SCHEDULE_INBOXES', '0 * * * *'),
      users: readSchedule(read, 'SCHEDULE_USERS', '20 */6 * * *'),
      tags: readSchedule(read, 'SCHEDULE_TAGS', '40 */6 * * *'),
      conversations: readSchedule(read, 'SCHEDULE_CONVERSATIONS', '*/15 * * * *'),
    },
    timezone: readTimezone(read, 'SCHEDULE_TIMEZONE'),
    reportTimezone: readTimezone(read, 'REPORT_TIMEZONE'),
    http: {
      host: read('HTTP_HOST', '127.0.0.1', 'a host name or address', (text) =>
        /\s/.test(text) ? undefined : text,
      ),
      port: number('HTTP_PORT', 8787, 0, 65_535, true),
      allowedHosts: readHostNames(read, 'HTTP_ALLOWED_HOSTS'),
    },
    webhook: readWebhook(read, readSecret(env, folder, 'WEBHOOK_SECRET', faults), faults),
    logLevel: read('LOG_LEVEL', 'info', `one of ${LOG_LEVELS.join(', ')}`, (text) =>
      LOG_LEVELS.find((level) => level === text),
    ),
    storePublicPermalink: read(
      'STORE_PUBLIC_PERMALINK',
      false,
      'true or false',
      (text) => ({ true: true, false: false })[text],
    ),
  };
  const misspelt = misspeltVariables(environment, known);
  if (
    config.requestsReserved >= config.requestsPerDay &&
    !faults.some((fault) => fault.includes('REQUESTS_'))
  ) {
    faults.push(
      `REQUESTS_RESERVED: expected less than REQUESTS_PER_DAY (${config.requestsPerDay}), but got ${config.requestsReserved}`,
    );
  }
  if (faults.length > 0) throw configError(faults, misspelt);
  return Object.freeze({ ...config, misspelt });
}

type Read = <Value>(
  name: string,
  fallback: Value,
  expected: string,
  parse: (text: string) => Value | undefined,
) => Value;

function reader(env: Environment, faults: string[]): Read {
  return (name, fallback, expected, parse) => {
    const text = env[name]?.trim() ?? '';
    if (text === '') return fallback;
    const value = parse(text);
    if (value === undefined) faults.push(`${name}: expected ${expected}, but got ${JSON.stringify(text)}`);
    return value ?? fallback;
  };
}

function readApiUrl(read: Read, env: Environment, needed: boolean, faults: string[]): string | null {
  const name = 'INBOX_API_URL';
  const expected = 'the address of the service, http(s) and ending in /v1';
  if (needed && !env[name]?.trim()) {
    faults.push(`${name}: is missing; expected ${expected}`);
    return null;
  }
  return read<string | null>(name, null, expected, (text) => {
    const url = URL.canParse(text) ? new URL(text) : null;
    const plain =
      url !== null &&
      /^https?:$/.test(url.protocol) &&
      url.search === '' &&
      url.hash === '' &&
      url.username === '' &&
      url.password === '';
    return plain && /\/v1\/?$/.test(url.pathname) ? url.href.replace(/\/$/, '') : undefined;
  });
}

/** What a variable says, or the file that the variable NAME_FILE names: so that a secret need not stand in the environment. Empty where neither is set. */
function readSecret(
  env: Environment,
  folder: string,
  name: string,
  faults: string[],
): { text: string; name: string } {
  const text = env[name]?.trim() ?? '';
  const file = env[`${name}_FILE`]?.trim() ?? '';
  if (file === '') return { text, name };
  if (text !== '') faults.push(`${name} and ${name}_FILE: both are set; set one of them`);
  try {
    const content = readFileSync(resolve(folder, file), 'utf8').trim();
    if (content === '') faults.push(`${name}_FILE: ${file} is empty`);
    return { text: content, name: `${name}_FILE` };
  } catch (error) {
    const cause = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    faults.push(`${name}_FILE: cannot read ${file} (${cause})`);
    return { text: '', name: `${name}_FILE` };
  }
}

function readKey(env: Environment, folder: string, needed: boolean, faults: string[]): string | null {
  const { text: key, name } = readSecret(env, folder, 'INBOX_API_KEY', faults);
  if (key === '') {
    if (needed && name === 'INBOX_API_KEY')
      faults.push('INBOX_API_KEY: is missing; set it, or INBOX_API_KEY_FILE to a file that holds the key');
    return null;
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    faults.push(
      `${name}: expected a key of printable characters without spaces; its value is not shown here`,
    );
    return null;
  }
  return key;
}

/** The key as it stands now, where it lies in a file; null where none is set. @throws MirrorError `CONFIG` */
export function rereadKey(env: Environment, folder: string): string | null {
  const faults: string[] = [];
  const key = readKey(env, folder, true, faults);
  if (faults.length > 0) throw configError(faults);
  return key;
}

/** `file:` with an absolute path, or a PostgreSQL server's address. What it says is not shown in a fault: it may hold a password. */
function readDatabaseUrl(env: Environment, folder: string, faults: string[]): string {
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

function readSchedule(read: Read, name: string, fallback: string): string {
  return read(
    name,
    fallback,
    'a cron expression of five fields, or six with seconds, such as "*/15 * * * *"',
    (text) =>
      // node-cron also takes nicknames such as @daily, which say less than they seem to: five or six fields it is.
      isCron(text) && /^(\S+\s+){4,5}\S+$/.test(text) ? text : undefined,
  );
}

function readHostNames(read: Read, name: string): readonly string[] {
  return read<readonly string[]>(
    name,
    [],
    'host names with commas between them and without ports',
    (text) => {
      const names = text.split(',').map((part) => part.trim().toLowerCase());
      return names.every((part) => /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(part)) ? names : undefined;
    },
  );
}

/** Address and secret in the form of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
function readWebhook(
  read: Read,
  { text: secret, name }: { text: string; name: string },
  faults: string[],
): Config['webhook'] {
  const url = read<string | null>(
    'WEBHOOK_URL',
    null,
    'an http(s) address without user and password',
    (text) => {
      const parsed = URL.canParse(text) ? new URL(text) : null;
      return parsed !== null &&
        /^https?:$/.test(parsed.protocol) &&
        parsed.username === '' &&
        parsed.password === ''
        ? parsed.href
        : undefined;
    },
  );
  const bytes = /^whsec_[A-Za-z0-9+/]+=*$/.test(secret)
    ? Buffer.from(secret.slice('whsec_'.length), 'base64').length
    : 0;
  if (url === null && secret === '') return null;
  if (bytes < 24 || bytes > 64)
    faults.push(
      `${name}: expected whsec_ and 24 to 64 bytes in base64 (\`echo whsec_$(openssl rand -base64 32)\` makes one); its value is not shown here`,
    );
  else if (url === null && !faults.some((fault) => fault.startsWith('WEBHOOK_URL')))
    faults.push('WEBHOOK_URL: is missing; set it, or leave out WEBHOOK_SECRET');
  return url === null ? null : { url, secret };
}

function readTimezone(read: Read, name: string): string {
  return read(name, 'UTC', 'a time zone, such as UTC or Europe/Berlin', (text) =>
    isTimezone(text) ? text : undefined,
  );
}

function isTimezone(text: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

function configError(faults: readonly string[], misspelt: readonly string[] = []): MirrorError {
  const list = [...faults, ...misspelt].map((fault) => `  ${fault}`).join('\n');
  return new MirrorError(
    'CONFIG',
    `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${list}\nSet them in the environment or in a file .env; .env.example lists all with their defaults.`,
  );
}
