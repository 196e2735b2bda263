import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import { messageOf, MirrorError } from '../../../core/errors.ts';
import { readEnvText } from '../../../session/config/environment.ts';

/** Only the owner may read a file with a key. */
const MODE = 0o600;

/**
 * Writes variables to an `.env` file, with mode 0600. A line that sets one of them is replaced, one that
 * names a file for it (NAME_FILE) becomes a comment, and every other line stays. The file is replaced whole,
 * so that a failure leaves the old one.
 * @throws MirrorError `USAGE` for a value that no `.env` file can hold, `CONFIG` if another value would
 *   change, `OUTPUT` if the file cannot be written
 */
export function writeSettings(path: string, settings: Readonly<Record<string, string>>): void {
  try {
    replace(path, withSettings(path, settings));
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new MirrorError(
      'OUTPUT',
      `The file ${path} cannot be written: ${messageOf(error)}. Nothing was written. Make room or correct ` +
        'its rights and those of its folder, or run init in another folder.',
      { cause: error },
    );
  }
}

/** The text of the file, with these variables. */
function withSettings(path: string, settings: Readonly<Record<string, string>>): string {
  const before = readEnvText(path);
  let lines = before === '' ? [] : before.replace(/\n$/, '').split('\n');
  for (const [name, value] of Object.entries(settings)) {
    const known = lines.findIndex((line) => sets(line, name));
    const at = known === -1 ? lines.length : known;
    const rest = lines.slice(at + 1).filter((line) => !sets(line, name));
    lines = [...lines.slice(0, at), lineOf(name, value), ...rest].map((line) =>
      sets(line, `${name}_FILE`) ? `# ${line}` : line,
    );
  }
  const after = `${lines.join('\n')}\n`;
  if (!isDeepStrictEqual({ ...parseEnv(after) }, wanted(before, settings)))
    throw new MirrorError(
      'CONFIG',
      `Cannot change ${path}: another of its values would change, perhaps because a quoted value runs over ` +
        `several lines or has no end. Nothing was written. ` +
        `Set ${Object.keys(settings).join(' and ')} in it by hand.`,
    );
  return after;
}

/** The file's values with the new ones. A line of a longer value can look like a setting. */
function wanted(
  before: string,
  settings: Readonly<Record<string, string>>,
): Readonly<Record<string, string | undefined>> {
  const replaced = new Set(Object.keys(settings).map((name) => `${name}_FILE`));
  const kept = Object.entries(parseEnv(before)).filter(([name]) => !replaced.has(name));
  return { ...Object.fromEntries(kept), ...settings };
}

function sets(line: string, name: string): boolean {
  return new RegExp(String.raw`^\s*(?:export\s+)?${name}\s*=`).test(line);
}

/** Writes through no link: in a folder that others may write to, it may be theirs. */
function replace(path: string, text: string): void {
  const half = `${path}.${randomUUID()}.partial`;
  try {
    writeFileSync(half, text, { mode: MODE, flag: 'wx' });
    renameSync(half, path);
  } catch (error) {
    rmSync(half, { force: true });
    throw error;
  }
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
