import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { messageOf, MirrorError } from '../../core/errors.ts';
import { onOneLine } from '../../core/humanize.ts';
import { readSettingsFile } from './files.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables of the `.env` file in `folder`, if it exists; those of `env` override them. NAME_FILE of
 * `env` also overrides NAME of the file, and the reverse: both give one value.
 */
export function readEnvironment(env: Environment, folder: string): Environment {
  const { variables } = readEnvFile(folder);
  const left = Object.entries(variables).filter(([name]) => !env[otherName(name)]?.trim());
  return { ...Object.fromEntries(left), ...env };
}

/** `NAME_FILE` for `NAME`, and the reverse. */
function otherName(name: string): string {
  return name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : `${name}_FILE`;
}

/** The path of the `.env` file in `folder`, and what it sets: nothing if it does not exist. */
export interface EnvFile {
  readonly path: string;
  readonly variables: Environment;
  /** A sentence for each value that ends at a `#` that may belong to it. */
  readonly warnings: readonly string[];
}

/** @throws MirrorError `CONFIG` if the file cannot be read */
export function readEnvFile(folder: string): EnvFile {
  const path = join(folder, '.env');
  const text = readEnvText(path);
  const variables = parseEnv(text);
  return { path, variables, warnings: cutValueWarnings(text, variables) };
}

/**
 * The text of an `.env` file, without a byte order mark. A file that does not exist is empty.
 * @throws MirrorError `CONFIG` if the file cannot be read
 */
export function readEnvText(path: string): string {
  if (!existsSync(path)) return '';
  let bytes: Buffer;
  try {
    bytes = readSettingsFile(path);
  } catch (error) {
    throw new MirrorError('CONFIG', `Cannot read ${path}: ${messageOf(error)}.`, { cause: error });
  }
  if (isUtf16(bytes))
    throw new MirrorError(
      'CONFIG',
      `Cannot read ${path}: it is in UTF-16. Save it as UTF-8. ` +
        'In PowerShell: (Get-Content .env) | Set-Content -Encoding utf8 .env',
    );
  // The decoder removes a byte order mark.
  return new TextDecoder().decode(bytes);
}

/**
 * The faults, each with the path of `.env` if its value is from there.
 * @param own the environment without the variables of `.env`
 */
export function withPlaces(
  faults: readonly string[],
  { path, variables }: EnvFile,
  own: Environment,
): string[] {
  return faults.map((fault) => {
    const [name = ''] = /^\w*/.exec(fault) ?? [];
    return own[name] === undefined && variables[name]?.trim() ? `${fault} (in ${path})` : fault;
  });
}

/** A value without quotes, up to a `#` between other characters. Behind a space, `#` begins a comment. */
const CUT = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*((?:[^\s'"`#][^#\n]*)?)(?<![ \t])#\S/gm;

function cutValueWarnings(text: string, variables: Environment): string[] {
  // The second condition leaves out a line inside a text of several lines.
  return Array.from(text.matchAll(CUT))
    .filter(([, name = '', before]) => variables[name] === before)
    .map(
      ([, name = '']) => `${name}: the value in .env ends at its #, where a comment begins; put it in quotes`,
    );
}

/** True for text in UTF-16, as PowerShell 5 redirects it: with its byte order mark, or with zero bytes. */
function isUtf16(bytes: Buffer): boolean {
  const mark = bytes.toString('hex', 0, 2);
  return mark === 'fffe' || mark === 'feff' || bytes.includes(0);
}

/** No fault shows the value of these: an address may hold a password, and the key may be in its place. */
const ADDRESSES = new Set(['WEBHOOK_URL', 'HTTP_HOST', 'HTTP_ALLOWED_HOSTS']);

/**
 * Reads one variable, or returns `fallback` if it is blank. If `parse` returns undefined, the variable has a
 * fault, which reports `expected`, and the value unless it is an address.
 */
export type Read = <Value>(
  name: string,
  fallback: Value,
  expected: string,
  parse: (text: string) => Value | undefined,
) => Value;

export function reader(env: Environment, faults: string[]): Read {
  return (name, fallback, expected, parse) => {
    const text = env[name]?.trim() ?? '';
    if (text === '') return fallback;
    const value = parse(text);
    const got = ADDRESSES.has(name)
      ? '; its value is not shown here'
      : `, but got ${JSON.stringify(onOneLine(text, MOST_SHOWN))}`;
    if (value === undefined) faults.push(`${name}: expected ${expected}${got}`);
    return value ?? fallback;
  };
}

/** At most this many characters of a wrong value are shown. */
const MOST_SHOWN = 200;

/** The end of every message about wrong variables. */
export const HOW_TO_SET =
  'Set the variables in the environment or in a file named .env in the current folder, which ' +
  '`inbox-mirror init` writes; .env.example lists all with defaults.';

export function configError(faults: readonly string[], slips: readonly string[] = []): MirrorError {
  const all = [...faults, ...slips];
  const list = all.map((fault) => `  ${fault}`).join('\n');
  const count = all.length === 1 ? 'a problem' : `${all.length} problems`;
  return new MirrorError('CONFIG', `The configuration has ${count}:\n${list}\n${HOW_TO_SET}`);
}
