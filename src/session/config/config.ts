import type { ListName } from '../../core/lists.ts';
import { readDatabaseUrl } from './database-url.ts';
import { configError, type Environment, reader } from './environment.ts';
import { misspeltVariables } from './misspelt.ts';
import { readKey, readSecret } from './secrets.ts';
import { readApiUrl, readHostNames, readSchedule, readTimezone, readWebhook } from './variables.ts';

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
