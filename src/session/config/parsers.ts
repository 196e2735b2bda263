import { validate as isCron } from 'node-cron';
import { duration, parseLength } from '../../core/humanize.ts';
import type { Environment, Read } from './environment.ts';

/** The receiver of changes: its address and the secret that signs them. */
export interface Receiver {
  readonly url: string;
  readonly secret: string;
}

/** A webhook secret begins with this (Standard Webhooks); base64 follows. */
export const SECRET_PREFIX = 'whsec_';

export function readApiUrl(env: Environment, needed: boolean, faults: string[]): string | null {
  const name = 'INBOX_API_URL';
  const text = env[name]?.trim() ?? '';
  if (text === '') {
    if (needed)
      faults.push(
        `${name}: is missing; it is the address of the service's API, ` +
          'which begins with https:// and ends in /v1',
      );
    return null;
  }
  const fault = faultOfApiUrl(text);
  if (fault === null) return new URL(text).href.replace(/\/$/, '');
  faults.push(`${name}: ${fault}; its value is not shown here`);
  return null;
}

/** The verb and the rest of a sentence about a wrong address; null if the address can be right. */
function faultOfApiUrl(text: string): string | null {
  if (!/^https?:\/\//i.test(text)) return 'does not begin with https:// (or http://)';
  if (!URL.canParse(text)) return 'is not a valid address';
  const { username, password, pathname } = new URL(text);
  if (username !== '' || password !== '') return 'has a user name or a password; only the key may log in';
  if (/[?#]/.test(text)) return 'has a ? or a #; leave out that part';
  return /\/v1\/?$/.test(pathname) ? null : 'does not end in /v1';
}

/** Hosts of this machine, as `URL` writes them. */
const THIS_MACHINE = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/;

/** Adds a fault for an address that would send the key in clear to another machine. */
export function refusePlainHttp(apiUrl: string | null, faults: string[]): void {
  if (apiUrl === null || !apiUrl.startsWith('http:') || THIS_MACHINE.test(new URL(apiUrl).hostname)) return;
  faults.push(
    `INBOX_API_URL: would send the key in clear to ${apiUrl}; write https:, or set ALLOW_HTTP=true ` +
      'if the way to that machine is private',
  );
}

export function readBoolean(read: Read, name: string): boolean {
  return read(name, false, 'true or false', (text) => ({ true: true, false: false })[text]);
}

export function readSchedule(read: Read, name: string, fallback: string): string {
  return read(
    name,
    fallback,
    'a cron expression of five fields, or six with seconds, such as "*/15 * * * *"',
    (text) =>
      // node-cron also accepts nicknames such as @daily, which do not name their moment; they are refused.
      isCron(text) && /^(\S+\s+){4,5}\S+$/.test(text) ? text : undefined,
  );
}

export function readHostNames(read: Read, name: string): readonly string[] {
  return read<readonly string[]>(
    name,
    [],
    'host names with commas between them and without ports',
    (text) => {
      const names = text.split(',').map((part) => part.trim().toLowerCase());
      return names.every((part) => /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(part)) ? names : undefined;
    },
  );
}

/** Address and secret of the receiver. Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
export function readWebhook(
  read: Read,
  { text: secret, name }: { text: string; name: string },
  faults: string[],
): Receiver | null {
  const url = read<string | null>(
    'WEBHOOK_URL',
    null,
    'an http(s) address without user and password',
    (text) => {
      const parsed = URL.canParse(text) ? new URL(text) : null;
      return parsed !== null &&
        /^https?:$/.test(parsed.protocol) &&
        parsed.username === '' &&
        parsed.password === ''
        ? parsed.href
        : undefined;
    },
  );
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : '';
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) ? Buffer.from(encoded, 'base64').length : 0;
  const howToMake = `(\`echo ${SECRET_PREFIX}$(openssl rand -base64 32)\` makes one)`;
  if (url === null && secret === '') return null;
  if (secret === '' && name === 'WEBHOOK_SECRET')
    faults.push(`${name}: is missing; WEBHOOK_URL needs it ${howToMake}`);
  else if (bytes < 24 || bytes > 64)
    faults.push(
      `${name}: expected ${SECRET_PREFIX} and 24 to 64 bytes in base64 ${howToMake}; ` +
        'its value is not shown here',
    );
  else if (url === null && !faults.some((fault) => fault.startsWith('WEBHOOK_URL')))
    faults.push('WEBHOOK_URL: is missing; set it, or leave out WEBHOOK_SECRET');
  return url === null ? null : { url, secret };
}

/** A length of time from 0 to `most` ms: `0`, `30s`, `10m`, `2h` or `7d`. @returns milliseconds */
export function readDuration(
  read: Read,
  name: string,
  { fallback, most }: { fallback: number; most: number },
): number {
  const expected = `0, or a length of time of up to ${duration(most)} such as 30s, 10m, 2h or 1d`;
  return read(name, fallback, expected, (text) => {
    const ms = text === '0' ? 0 : parseLength(text);
    return ms !== null && ms <= most ? ms : undefined;
  });
}

export function readTimezone(read: Read, name: string, fallback: string): string {
  return read(name, fallback, 'a time zone, such as UTC or Europe/Berlin', (text) =>
    isTimezone(text) ? text : undefined,
  );
}

/** An offset by whole quarters of an hour, as that of each named zone is: the schedules count in quarters. */
const OFFSET = /^[+-]\d\d(:?(00|15|30|45))?$/;

function isTimezone(text: string): boolean {
  if (/^[+-]/.test(text) && !OFFSET.test(text)) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** A number from `least` to `most`; a whole number unless `isWhole` is false. */
export function readNumber(
  read: Read,
  name: string,
  {
    fallback,
    least,
    most,
    isWhole = true,
  }: { fallback: number; least: number; most: number; isWhole?: boolean },
): number {
  return read(
    name,
    fallback,
    `${isWhole ? 'a whole number' : 'a number'} from ${least} to ${most}`,
    (text) => {
      const value = Number(text);
      const isNumber = /^\d*\.?\d+$/.test(text) && (!isWhole || Number.isInteger(value));
      return isNumber && value >= least && value <= most ? value : undefined;
    },
  );
}
