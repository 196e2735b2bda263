import type { Budget } from '../core/budget.ts';
import { keyFingerprint } from '../core/secrets.ts';
import type { Database } from '../database/database.ts';
import { type Mirror, mirrorOn } from '../mirror/mirror.ts';
import { openToRead } from '../query/open.ts';
import { systemClock } from './clock.ts';
import { type Config, readConfig, withSchedules } from './config/config.ts';
import { readEnvironment } from './config/environment.ts';
import { keyScope, type OtherMirror } from './key/records.ts';
import { openKeyUse } from './key/use.ts';
import { type Io, printWarning } from './terminal.ts';

/** The variables that say where the mirror is. Others may be those of another program's `.env`. */
const OF_ADDRESS = /^DATABASE_URL(?:_FILE)?\b/;

/**
 * The address of the mirror, for a command that uses nothing else of the configuration.
 * @throws MirrorError `CONFIG`
 */
export function mirrorAddress(io: Io): string {
  return readerConfig(io, OF_ADDRESS).databaseUrl;
}

/**
 * The configuration of a command that only reads the mirror. It warns about misspelt variables on stderr,
 * because they might make the command read the wrong mirror.
 * @param uses the names of the variables that the command uses; by default all
 * @throws MirrorError `CONFIG`
 */
function readerConfig(io: Io, uses?: RegExp): Config {
  const environment = readEnvironment(io.env, io.cwd);
  const config = readConfig(environment, io.cwd, { service: false, own: io.env, uses });
  for (const sentence of config.warnings) printWarning(io.stderr, sentence);
  return config;
}

/**
 * Opens a mirror for a command that only reads.
 * @param open `openExisting` for a command that also keeps the slots of the schedules
 * @throws MirrorError `USAGE` if the mirror does not exist
 */
export async function openReader(
  io: Io,
  open: (url: string) => Promise<Database> = openToRead,
): Promise<{
  config: Config;
  mirror: Mirror;
  /** The other mirrors with the same key. */
  others: readonly OtherMirror[];
}> {
  const own = readerConfig(io);
  const mirror = mirrorOn(await open(own.databaseUrl));
  const configured = await asRecorded(own, mirror);
  const clock = systemClock();
  const known = await mirror.account();
  const fingerprint = configured.key === null ? known.fingerprint : keyFingerprint(configured.key);
  const use = openKeyUse({
    configured: configured.budget,
    mirror,
    clock,
    machineNow: clock.now,
    folder: fingerprint === null ? null : configured.stateFolder,
    scope: () => keyScope(fingerprint ?? '', configured.apiUrl ?? known.address),
    onTrouble: (cause) => printWarning(io.stderr, `the records of the key cannot be read: ${cause}`),
  });
  await use.refresh();
  return { config: { ...configured, budget: use.budget }, mirror, others: use.others() };
}

/**
 * The configuration of the process that sends, as far as the mirror records it. A variable of the reader
 * overrides the value that it names. Recorded schedules of users and tags: `recordedCrons`.
 */
async function asRecorded(config: Config, mirror: Mirror): Promise<Config> {
  const { unset } = config;
  const schedules = new Map((await mirror.schedules.all()).map((schedule) => [schedule.list, schedule]));
  const inboxes = unset.has('SCHEDULE_INBOXES') ? schedules.get('inboxes')?.expression : undefined;
  const conversations = unset.has('SCHEDULE_CONVERSATIONS')
    ? schedules.get('conversations')?.expression
    : undefined;
  const timezone = unset.has('SCHEDULE_TIMEZONE') ? schedules.get('inboxes')?.timezone : undefined;
  const budget = recordedBudget(config, await mirror.recordedLimits());
  return withSchedules(
    { ...config, budget, timezone: timezone ?? config.timezone },
    { inboxes, conversations },
  );
}

/**
 * The limits of the day that the mirror records. If one of them and a variable of the reader contradict, as a
 * day within the recorded reserve, the reader's configuration counts alone.
 */
function recordedBudget(
  { budget, unset }: Pick<Config, 'budget' | 'unset'>,
  recorded: Pick<Budget, 'perDay' | 'reserved'> | null,
): Budget {
  const perDay = unset.has('REQUESTS_PER_DAY') ? recorded?.perDay : undefined;
  const reserved = unset.has('REQUESTS_RESERVED') ? recorded?.reserved : undefined;
  const limits = { perDay: perDay ?? budget.perDay, reserved: reserved ?? budget.reserved };
  return limits.reserved < limits.perDay ? { ...budget, ...limits } : budget;
}
