import { type Config, readConfig, readEnvironment } from '../config.ts';
import { type Io, paint, printLine } from './io.ts';
import { wrapped } from './wrap.ts';

/** The configuration of a command that only reads the mirror, with a warning for each slip in a variable's name: it might read another mirror than is meant. @throws MirrorError `CONFIG` */
export function readerConfig(io: Io): Config {
  const config = readConfig(readEnvironment(io.env, io.cwd), io.cwd, { service: false });
  for (const sentence of config.misspelt)
    printLine(io.stderr, wrapped(io.stderr, `${paint(io.stderr, 'yellow', 'warning:')} ${sentence}`));
  return config;
}
