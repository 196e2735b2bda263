import { type Mirror, openMirror } from '../mirror/mirror.ts';
import { openExisting } from '../query/open.ts';
import { type Config, readConfig } from './config/config.ts';
import { readEnvironment } from './config/environment.ts';
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

/** Opens a mirror for a command that only reads. @throws MirrorError `USAGE` if the mirror does not exist */
export async function openReader(io: Io): Promise<{ config: Config; mirror: Mirror }> {
  const config = readerConfig(io);
  return { config, mirror: openMirror(await openExisting(config.databaseUrl)) };
}
