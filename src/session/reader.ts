import { keyFingerprint } from '../core/secrets.ts';
import type { Database } from '../database/database.ts';
import { type Mirror, openMirror } from '../mirror/mirror.ts';
import { openToRead } from '../query/open.ts';
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
