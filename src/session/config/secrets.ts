import { join } from 'node:path';
import { MirrorError } from '../../core/errors.ts';
import { holdsKey, LEAST_KEY, SANDBOX_KEY } from '../../core/secrets.ts';
import { configError, type Environment, readEnvironment } from './environment.ts';
import { readNamedFile } from './files.ts';

/**
 * Reads a secret from the variable `name`, or from the file that NAME_FILE names.
 * @returns the text, empty if neither is set, and the name of the variable that was read
 */
export function readSecret(
  env: Environment,
  folder: string,
  name: string,
  faults: string[],
): { text: string; name: string } {
  const text = env[name]?.trim() ?? '';
  const fileName = `${name}_FILE`;
  if (!env[fileName]?.trim()) return { text, name };
  if (text !== '') faults.push(`${name} and ${fileName}: both are set; set one of them`);
  const file = readNamedFile(env, folder, fileName, faults);
  const content = file?.text.trim() ?? '';
  if (file !== null && content === '') faults.push(`${fileName}: ${file.path} is empty`);
  return { text: content, name: fileName };
}

export function readKey(env: Environment, folder: string, needed: boolean, faults: string[]): string | null {
  const { text: key, name } = readSecret(env, folder, 'INBOX_API_KEY', faults);
  if (key === '') {
    if (needed && name === 'INBOX_API_KEY')
      faults.push('INBOX_API_KEY: is missing; set it, or INBOX_API_KEY_FILE to a file that holds the key');
    return null;
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    faults.push(
      `${name}: expected a key of printable characters without spaces; its value is not shown here`,
    );
    return null;
  }
  if (/^["'`]|["'`]$/.test(key)) {
    faults.push(
      `${name}: begins or ends with a quotation mark, which is no part of a key; its value is not shown here`,
    );
    return null;
  }
  return key;
}

/**
 * Adds a fault for an address of the service that contains the key, because the program prints and stores
 * addresses. @returns whether it does
 */
export function refuseKeyInAddress(env: Environment, key: string | null, faults: string[]): boolean {
  const address = env['INBOX_API_URL']?.trim() ?? '';
  if (key === null || key.length < LEAST_KEY || key === SANDBOX_KEY) return false;
  // A URL has its host in lower case and without %XX.
  const forms = [address, URL.canParse(address) ? new URL(address).href : ''];
  if (!forms.some((form) => holdsKey(form, key) || holdsKey(form.toLowerCase(), key.toLowerCase())))
    return false;
  faults.push(
    'INBOX_API_URL: contains the API key, and addresses are shown and stored; write the address without ' +
      'the key, which each request carries in a header; its value is not shown here',
  );
  return true;
}

/** The variables that decide where the key goes. */
const DESTINATION = /^(?:INBOX_API_URL|INBOX_API_CA_FILE|ALLOW_HTTP|https?_proxy)$/i;

/**
 * A warning if the key comes from the environment and its destination from the working folder's `.env`: a
 * folder of another person could send the key elsewhere. Proxies and certificates count too.
 * @param all the variables of both
 * @param own the environment without the variables of `.env`
 */
export function strayKeyWarnings(all: Environment, own: Environment, folder: string): string[] {
  const key = ['INBOX_API_KEY', 'INBOX_API_KEY_FILE'].find((name) => own[name]?.trim());
  const strays = Object.keys(all).filter(
    (name) => DESTINATION.test(name) && all[name]?.trim() && own[name] === undefined,
  );
  if (key === undefined || strays.length === 0) return [];
  return [
    `${key} comes from the environment, but ${strays.join(', ')} from ${join(folder, '.env')}: ` +
      `the key goes where that file says (${all['INBOX_API_URL']?.trim() ?? ''}); ` +
      'set them in one place to end this warning',
  ];
}

/**
 * Reads the key again. Null if none is set.
 * @param before the environment from which the key in use and its destination were read
 * @throws MirrorError `CONFIG`, also for a new key that comes with another destination: it may be the key of
 *   another service, and this process would send it to the one that it knows
 */
export function rereadKey(
  env: Environment,
  { before, inUse, folder }: { before: Environment; inUse: string; folder: string },
): string | null {
  const faults: string[] = [];
  const key = readKey(env, folder, true, faults);
  refuseKeyInAddress(env, key, faults);
  if (faults.length > 0) throw configError(faults);
  if (key === inUse) return key;
  const moved = Object.keys({ ...before, ...env }).filter(
    (name) => DESTINATION.test(name) && (before[name]?.trim() ?? '') !== (env[name]?.trim() ?? ''),
  );
  if (moved.length === 0) return key;
  throw new MirrorError(
    'CONFIG',
    `The key has changed, and ${moved.join(', ')} has changed too, which is read only at the start. ` +
      'The new key is not sent to the old address; restart the program to use both.',
  );
}

/** The key, valid or not, for masking it in messages. Null if none can be read. */
export function keyToMask(env: Environment, folder: string): string | null {
  try {
    return readSecret(readEnvironment(env, folder), folder, 'INBOX_API_KEY', []).text || null;
  } catch {
    // The `.env` cannot be read, so the command has read no key from it either.
    return env['INBOX_API_KEY'] ?? null;
  }
}
