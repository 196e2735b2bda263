import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMirrorError } from '../core/errors.ts';
import { keyFingerprint } from '../core/secrets.ts';
import { TABLE_SENTENCES, VIEW_NAMES } from '../database/catalogue.ts';
import type { Database } from '../database/database.ts';
import { isPostgres } from '../database/open.ts';
import { addressOf } from '../database/postgresql/address.ts';
import { checkCreatable, sqlitePath } from '../database/sqlite/file.ts';
import { type Mirror, openMirror } from '../mirror/mirror.ts';
import { openReadOnly, openToRead } from '../query/open.ts';
import { systemClock } from './clock.ts';
import { type Config, readConfig } from './config/config.ts';
import { readEnvironment } from './config/environment.ts';
import { keyScope, type OtherMirror } from './key/records.ts';
import { openKeyUse } from './key/use.ts';
import { type Io, printWarning } from './terminal.ts';

/**
 * The configuration of a command that only reads the mirror. It warns about misspelt variables on stderr,
 * because they might make the command read the wrong mirror.
 * @throws MirrorError `CONFIG`
 */
export function readerConfig(io: Io): Config {
  const config = readConfig(readEnvironment(io.env, io.cwd), io.cwd, { service: false });
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
  const configured = readerConfig(io);
  const mirror = openMirror(await open(configured.databaseUrl));
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

/** The mirror that a check of the configuration opens; without one, an empty mirror in a temporary folder. */
export interface FoundMirror {
  readonly io: Io;
  /** Null if there is a mirror. `plan`: what a first sync would create, in words. */
  readonly standIn: { readonly plan: string; readonly remove: () => void } | null;
}

/**
 * Looks for the mirror and creates none. A missing one is replaced by a stand-in, in which the ledger counts
 * the requests of a check.
 * @throws MirrorError `CONFIG`, or `DATABASE` if the mirror could not be opened or created
 */
export async function findMirror(io: Io): Promise<FoundMirror> {
  const { databaseUrl } = readConfig(readEnvironment(io.env, io.cwd), io.cwd, { service: true, own: io.env });
  try {
    await (await openReadOnly(databaseUrl)).close();
    return { io, standIn: null };
  } catch (error) {
    if (!isMirrorError(error, 'USAGE')) throw error;
    if (!isPostgres(databaseUrl)) checkCreatable(sqlitePath(databaseUrl));
    const folder = mkdtempSync(join(tmpdir(), 'inbox-mirror-'));
    const remove = (): void => rmSync(folder, { recursive: true, force: true });
    const address = { DATABASE_URL: `file:${join(folder, 'mirror.db')}`, DATABASE_URL_FILE: undefined };
    // A mirror that exists for one request must not stay in the records of the key.
    const unrecorded = { INBOX_STATE_DIR: undefined, XDG_STATE_HOME: undefined, HOME: undefined };
    return {
      io: { ...io, env: { ...io.env, ...address, ...unrecorded } },
      standIn: { plan: planFor(databaseUrl), remove },
    };
  }
}

function planFor(databaseUrl: string): string {
  const parts = `${Object.keys(TABLE_SENTENCES).length} tables and ${VIEW_NAMES.length} views`;
  return isPostgres(databaseUrl)
    ? `no mirror yet: the first sync creates ${parts} in ${addressOf(databaseUrl).name}`
    : `no mirror yet: the first sync creates ${sqlitePath(databaseUrl)} with ${parts}`;
}
