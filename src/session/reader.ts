import { type Mirror, openMirror } from '../mirror/mirror.ts';
import { openExisting } from '../query/open.ts';
import { type Config, readConfig } from './config/config.ts';
import { readEnvironment } from './config/environment.ts';
import { type Io, paint, printLine, wrapped } from './terminal.ts';

/**
 * The configuration of a command that only reads the mirror. Warns of misspelt variables on stderr, because the command might
 * read the wrong mirror.
 * @throws MirrorError `CONFIG`
 */
export function readerConfig(io: Io): Config {
  const config = readConfig(readEnvironment(io.env, io.cwd), io.cwd, { service: false });
  for (const sentence of config.misspelt)
    printLine(io.stderr, wrapped(io.stderr, `${paint(io.stderr, 'yellow', 'warning:')} ${sentence}`));
  return config;
}

/** Opens an existing mirror for a command that only reads it. @throws MirrorError `USAGE` if there is none yet */
export async function openReader(io: Io): Promise<{ config: Config; mirror: Mirror }> {
  const config = readerConfig(io);
  return { config, mirror: openMirror(await openExisting(config.databaseUrl)) };
}
