import { isIP } from 'node:net';
import type { Environment, Read } from './environment.ts';
import { readHostNames, readNumber } from './parsers.ts';
import { readSecret } from './secrets.ts';

/** Where the daemon's HTTP endpoints listen, and who may read them. */
export interface EndpointSettings {
  readonly host: string;
  readonly port: number;
  /** Further host names that a request to the endpoints may use, in lower case. */
  readonly allowedHosts: readonly string[];
  /** Clients send it as `Authorization: Bearer …`. Null: every client may read. */
  readonly token: string | null;
}

/** A shorter token could be guessed. */
const LEAST_TOKEN = 16;

/**
 * Reads the `HTTP_…` variables. No fault shows the token.
 * @param serves the command opens the endpoints: on an address of the network it needs a token
 */
export function readEndpoints(
  read: Read,
  { env, folder, serves, faults }: { env: Environment; folder: string; serves: boolean; faults: string[] },
): EndpointSettings {
  const host = read('HTTP_HOST', '127.0.0.1', 'a host name or address', (text) =>
    isIP(text) !== 0 || /^[^\s/:@?#]+$/.test(text) ? text : undefined,
  );
  const secret = readSecret(env, folder, 'HTTP_TOKEN', faults);
  const isUnread = secret.text === '' && secret.name !== 'HTTP_TOKEN';
  const token = secret.text === '' ? null : secret.text;
  if (token !== null && !isToken(token))
    faults.push(
      `${secret.name}: expected at least ${LEAST_TOKEN} printable characters of ASCII without spaces ` +
        '(`openssl rand -hex 32` makes them); its value is not shown here',
    );
  if (serves && token === null && !isUnread && !isLoopback(host))
    faults.push(
      "HTTP_HOST: on this address, other machines could read the mirror's data; name a file with a token " +
        `of at least ${LEAST_TOKEN} characters in HTTP_TOKEN_FILE (or set HTTP_TOKEN), ` +
        'or set HTTP_HOST=127.0.0.1',
    );
  return {
    host,
    port: readNumber(read, 'HTTP_PORT', { fallback: 8787, least: 0, most: 65_535 }),
    allowedHosts: readHostNames(read, 'HTTP_ALLOWED_HOSTS'),
    token,
  };
}

function isToken(text: string): boolean {
  return text.length >= LEAST_TOKEN && /^[\x21-\x7e]+$/.test(text);
}

/** True if only this machine reaches the address. Another name than `localhost` may mean any address. */
function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === '::1' || host.toLowerCase() === 'localhost';
}
