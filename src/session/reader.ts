import { type Config, readConfig } from './config/config.ts';
import { readEnvironment } from './config/environment.ts';
import { type Io, paint, printLine, wrapped } from './terminal.ts';

/** The configuration of a command that only reads the mirror, with a warning for each slip in a variable's name: it might read another mirror than is meant. @throws MirrorError `CONFIG` */
export function readerConfig(io: Io): Config {
  const config = readConfig(readEnvironment(io.env, io.cwd), io.cwd, { service: false });
  for (const sentence of config.misspelt)
    printLine(io.stderr, wrapped(io.stderr, `${paint(io.stderr, 'yellow', 'warning:')} ${sentence}`));
  return config;
}
