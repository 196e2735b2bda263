import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { messageOf, MirrorError } from '../../core/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables of the `.env` file in `folder`, if it exists; those of `env` override them. */
export function readEnvironment(env: Environment, folder: string): Environment {
  const file = join(folder, '.env');
  if (!existsSync(file)) return env;
  try {
    return { ...parseEnv(readFileSync(file, 'utf8')), ...env };
  } catch (error) {
    throw new MirrorError('CONFIG', `Cannot read ${file}: ${messageOf(error)}.`, { cause: error });
  }
}

/** No fault shows the value of these: an address may hold a password, and the key may be in its place. */
const ADDRESSES = new Set(['INBOX_API_URL', 'WEBHOOK_URL', 'HTTP_HOST', 'HTTP_ALLOWED_HOSTS']);

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
    const got = ADDRESSES.has(name) ? '; its value is not shown here' : `, but got ${JSON.stringify(text)}`;
    if (value === undefined) faults.push(`${name}: expected ${expected}${got}`);
    return value ?? fallback;
  };
}

export function configError(faults: readonly string[], misspelt: readonly string[] = []): MirrorError {
  const list = [...faults, ...misspelt].map((fault) => `  ${fault}`).join('\n');
  return new MirrorError(
    'CONFIG',
    `The configuration has ${faults.length === 1 ? 'a problem' : `${faults.length} problems`}:\n${list}\n` +
      'Set the variables in the environment or in a file named .env; .env.example lists all with defaults.',
  );
}
