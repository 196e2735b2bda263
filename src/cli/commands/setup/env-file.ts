import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { MirrorError } from '../../../core/errors.ts';

/** Only the owner may read a file with a key. */
const MODE = 0o600;

/**
 * Writes variables to an `.env` file, with mode 0600. A line that sets one of them is replaced, every other
 * line stays. The file is replaced whole, so that a failure leaves the old one.
 * @throws MirrorError `USAGE` for a value that no `.env` file can hold
 */
export function writeSettings(path: string, settings: Readonly<Record<string, string>>): void {
  const before = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const lines = before === '' ? [] : before.replace(/\n$/, '').split('\n');
  for (const [name, value] of Object.entries(settings)) {
    const line = lineOf(name, value);
    const known = lines.findIndex((text) => text.replace(/^\s*(?:export\s+)?/, '').startsWith(`${name}=`));
    if (known === -1) lines.push(line);
    else lines[known] = line;
  }
  const half = `${path}.${process.pid}`;
  writeFileSync(half, `${lines.join('\n')}\n`, { mode: MODE });
  renameSync(half, path);
}

/** `NAME=value`, in those quotes with which it is read back unchanged. */
function lineOf(name: string, value: string): string {
  const found = ['', "'", '"', '`']
    .map((quote) => `${name}=${quote}${value}${quote}`)
    .find((line) => parseEnv(line)[name] === value && !/[\r\n]/.test(line));
  if (found === undefined)
    throw new MirrorError('USAGE', `${name}: no .env file can hold this value. Set it in the environment.`);
  return found;
}
