import type { Budget } from '../../core/budget.ts';
import { DAY, MINUTE } from '../../core/clock.ts';
import type { ListName } from '../../core/lists.ts';
import { withoutKey } from '../../core/secrets.ts';
import { readDatabaseUrl, sslModeWarnings } from './database-url.ts';
import { type EndpointSettings, readEndpoints } from './endpoints.ts';
import { configError, type Environment, type Read, readEnvFile, reader, withPlaces } from './environment.ts';
import { exposedFileWarnings } from './exposed-files.ts';
import { misspeltVariables } from './misspelt.ts';
import { type Network, readNetwork } from './network.ts';
import {
  readApiUrl,
  readBoolean,
  readDuration,
  readNumber,
  readSchedule,
  readTimezone,
  readWebhook,
  type Receiver,
  refusePlainHttp,
} from './parsers.ts';
import { readReport, type Report } from './report.ts';
import { stateFolder } from './state-folder.ts';
import { readKey, readSecret, refuseKeyInAddress, strayKeyWarnings } from './secrets.ts';

/** The environment's variables, read and checked (.env.example). */
export interface Config extends Report {
  /** Without a trailing slash. Null if it is not set and the command does not call the service. */
  readonly apiUrl: string | null;
  readonly key: string | null;
  readonly network: Network;
  readonly databaseUrl: string;
  /** The folder of the records that mirrors with the same key share; null if no variable names one. */
  readonly stateFolder: string | null;
  readonly budget: Budget;
  /** Those of {@link RECORDED} that are not set: a command that only reads takes the mirror's values. */
  readonly unset: ReadonlySet<(typeof RECORDED)[number]>;
  readonly schedules: Readonly<Record<ListName, string>>;
  /** The lists of users and tags whose schedules are not set: with many inboxes they are read less often. */
  readonly stretchable: readonly ListName[];
  /** Single pages of conversations are read between the scheduled sweeps. Null: READ_PAGES=off. */
  readonly readPages: { readonly stretches: boolean } | null;
  readonly timezone: string;
  /** Two sweeps are independent witnesses of an absence if this many ms lie between them. */
  readonly goneAfterMs: number;
  readonly http: EndpointSettings;
  /** Null if no receiver is configured. */
  readonly webhook: Receiver | null;
  readonly logLevel: LogLevel;
  readonly storePublicPermalink: boolean;
  /**
   * Sentences: a variable looks misspelt, is cut short or sends the key astray, a file is readable for every
   * user, a mode of TLS does more than its name says.
   */
  readonly warnings: readonly string[];
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Variables whose values the mirror records. `stretchable` is the same for schedules of users and tags. */
const RECORDED = [
  'REQUESTS_PER_DAY',
  'REQUESTS_RESERVED',
  'SCHEDULE_INBOXES',
  'SCHEDULE_CONVERSATIONS',
  'SCHEDULE_TIMEZONE',
] as const;

/** The defaults of the lists that may be stretched (`sync/planning/stretch.ts`). */
const STRETCHABLE = { users: '20 */6 * * *', tags: '40 */6 * * *' } as const;

/** The default while single pages are read: every page of conversations once a day. */
const CONVERSATIONS_DAILY = '0 3 * * *';

/** A command's use of the variables. */
interface Needs {
  /** The command calls the service, so that address and key are required. */
  readonly service: boolean;
  /** The command serves HTTP. */
  readonly endpoints?: boolean;
  /** The environment without the variables of `.env`, if they are among those that are read. */
  readonly own?: Environment;
  /** The names of the variables that the command uses: a fault of another does not matter. By default all. */
  readonly uses?: RegExp | undefined;
}

/**
 * Reads and checks every variable.
 * @param folder the start of relative paths
 * @throws MirrorError `CONFIG`, which names all wrong variables at once and never shows the key
 */
export function readConfig(environment: Environment, folder: string, needs: Needs): Config {
  const faults: string[] = [];
  const { env, known } = observed(environment);
  const read = reader(env, faults);
  const apiUrl = readApiUrl(env, needs.service, faults);
  const allowsHttp = readBoolean(read, 'ALLOW_HTTP');
  const key = readKey(env, folder, needs.service, faults);
  const hasKey = apiUrl !== null && refuseKeyInAddress(env, key, faults);
  if (needs.service && !allowsHttp && !hasKey) refusePlainHttp(apiUrl, faults);
  const config: Omit<Config, 'warnings'> = {
    apiUrl,
    network: readNetwork(
      // Not `env`: a name like FTP_PROXY is not a slip of HTTP_PROXY.
      { ...environment, INBOX_API_CA_FILE: env['INBOX_API_CA_FILE'] },
      folder,
      {
        protocol: apiUrl?.split('/', 1)[0] ?? '',
        version: process.versions.node,
        faults: needs.service ? faults : [],
      },
    ),
    key,
    databaseUrl: readDatabaseUrl(env, folder, faults),
    // Not `env`: a name like HOST is not a slip of HOME.
    stateFolder: stateFolder({ ...environment, INBOX_STATE_DIR: env['INBOX_STATE_DIR'] }, folder),
    unset: new Set(RECORDED.filter((name) => isUnset(read, name))),
    budget: readBudget(read, faults),
    ...readSchedules(read),
    timezone: readTimezone(read, 'SCHEDULE_TIMEZONE', 'UTC'),
    goneAfterMs: readDuration(read, 'GONE_AFTER', { fallback: 10 * MINUTE, most: 7 * DAY }),
    ...readReport(read, faults),
    http: readEndpoints(read, { env, folder, serves: needs.endpoints === true, faults }),
    webhook: readWebhook(read, readSecret(env, folder, 'WEBHOOK_SECRET', faults), faults),
    logLevel: read('LOG_LEVEL', 'info', `one of ${LOG_LEVELS.join(', ')}`, (text) =>
      LOG_LEVELS.find((level) => level === text),
    ),
    storePublicPermalink: readBoolean(read, 'STORE_PUBLIC_PERMALINK'),
  };
  const envFile = needs.own === undefined ? null : readEnvFile(folder);
  const slips = [
    ...misspeltVariables(environment, known),
    ...(needs.service ? (envFile?.warnings ?? []) : []),
  ];
  const masked = (texts: readonly string[]): string[] => texts.map((text) => withoutKey(text, config.key));
  const { own, uses = /^/ } = needs;
  const wrong = faults.filter((fault) => uses.test(fault));
  const placed = envFile === null || own === undefined ? wrong : withPlaces(wrong, envFile, own);
  if (placed.length > 0) throw configError(masked(placed), slips);
  const stray = () => strayKeyWarnings(environment, needs.own ?? environment, folder);
  const exposed = () => exposedFileWarnings(environment, folder, { ...config, envFile });
  const risks = needs.service ? [...stray(), ...exposed()] : [];
  const warnings = [...slips, ...masked(risks), ...sslModeWarnings(config.databaseUrl)];
  return Object.freeze({ ...config, warnings });
}

/** The environment, and the set of the names that are read from it: the program keeps no list of names. */
function observed(environment: Environment): { env: Environment; known: Set<string> } {
  const known = new Set<string>();
  const env = new Proxy(environment, {
    get(target, name) {
      if (typeof name === 'string') known.add(name);
      return typeof name === 'string' ? target[name] : undefined;
    },
  });
  return { env, known };
}

function readSchedules(read: Read): Pick<Config, 'schedules' | 'stretchable' | 'readPages'> {
  const readsPages = read('READ_PAGES', true, 'auto or off', (text) => ({ auto: true, off: false })[text]);
  const usual = readsPages ? CONVERSATIONS_DAILY : '*/15 * * * *';
  const schedules = {
    inboxes: readSchedule(read, 'SCHEDULE_INBOXES', '0 * * * *'),
    users: readSchedule(read, 'SCHEDULE_USERS', STRETCHABLE.users),
    tags: readSchedule(read, 'SCHEDULE_TAGS', STRETCHABLE.tags),
    conversations: readSchedule(read, 'SCHEDULE_CONVERSATIONS', usual),
  };
  return {
    schedules,
    stretchable: (['users', 'tags'] as const).filter((list) =>
      isUnset(read, `SCHEDULE_${list.toUpperCase()}`),
    ),
    readPages: readsPages ? pageReads(schedules) : null,
  };
}

/** The configuration with other schedules than the environment sets. Those that are undefined stay. */
export function withSchedules(
  config: Config,
  {
    inboxes,
    conversations,
  }: { readonly inboxes: string | undefined; readonly conversations: string | undefined },
): Config {
  const schedules = {
    ...config.schedules,
    inboxes: inboxes ?? config.schedules.inboxes,
    conversations: conversations ?? config.schedules.conversations,
  };
  return { ...config, schedules, readPages: config.readPages === null ? null : pageReads(schedules) };
}

function pageReads({ conversations }: Config['schedules']): NonNullable<Config['readPages']> {
  return { stretches: conversations === CONVERSATIONS_DAILY };
}

function isUnset(read: Read, name: string): boolean {
  return read(name, true, 'a value', () => false);
}

function readBudget(read: Read, faults: string[]): Budget {
  const most = 1_000_000_000;
  const faultsBefore = faults.length;
  const budget: Budget = {
    perSecond: readNumber(read, 'REQUESTS_PER_SECOND', {
      fallback: 1,
      least: 0.001,
      most: 10_000,
      isWhole: false,
    }),
    perDay: readNumber(read, 'REQUESTS_PER_DAY', { fallback: 5000, least: 1, most }),
    reserved: readNumber(read, 'REQUESTS_RESERVED', { fallback: 250, least: 0, most }),
    // The service's answer to a limit outside this range is unknown (spec §4.2, §4.3).
    pageSize: readNumber(read, 'PAGE_SIZE', { fallback: 100, least: 10, most: 100 }),
  };
  const { perDay, reserved } = budget;
  const isFaulty = faults.slice(faultsBefore).some((fault) => fault.startsWith('REQUESTS_'));
  if (reserved >= perDay && !isFaulty)
    faults.push(`REQUESTS_RESERVED: expected less than REQUESTS_PER_DAY (${perDay}), but got ${reserved}`);
  return budget;
}
