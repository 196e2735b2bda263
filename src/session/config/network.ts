import { X509Certificate } from 'node:crypto';
import { isUtf8 } from './database-url.ts';
import type { Environment } from './environment.ts';
import { readNamedFile } from './files.ts';

/** How requests reach the service and the webhook. */
export interface Network {
  /**
   * The proxies' variables, as an agent of Node reads them: names in lower case win. `no_proxy` also has the
   * hosts of this machine.
   */
  readonly proxyEnv: Readonly<Record<string, string>>;
  /** Certificates (PEM) of a further authority, whom the service's client trusts. Null: none. */
  readonly authority: string | null;
}

/**
 * The hosts of this machine, as Node's agents read NO_PROXY. Requests to them may be in clear
 * (`refusePlainHttp`), so that a proxy, which is usually another machine, would read the key.
 */
const THIS_MACHINE = 'localhost,.localhost,127.0.0.0-127.255.255.255,0.0.0.0,[::1],::1,[::],::';

interface Needs {
  /** Of the service's address: `https:` or `http:`. */
  readonly protocol: string;
  /** Of Node. */
  readonly version: string;
  readonly faults: string[];
}

/** Reads the proxies and the authority. No fault shows a proxy's address: it may hold a password. */
export function readNetwork(env: Environment, folder: string, { protocol, version, faults }: Needs): Network {
  const proxyEnv: Record<string, string> = {};
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY']) {
    const text = env[name]?.trim() ?? '';
    if (text === '') continue;
    const proxy = readProxy(text);
    if (proxy === null)
      faults.push(
        `${name}: expected http://HOST:PORT, perhaps with USER:PASSWORD@, in which % is written as %25; ` +
          'its value is not shown here',
      );
    else if (!canUseProxies(version) && name.toLowerCase().startsWith(protocol.replace(':', '_')))
      faults.push(
        `${name}: needs Node.js 22.21, 24.5 or newer, but this is ${version}; unset it, or upgrade`,
      );
    else proxyEnv[name] = proxy;
  }
  if (Object.keys(proxyEnv).length > 0)
    proxyEnv['no_proxy'] = [env['no_proxy']?.trim() || env['NO_PROXY']?.trim(), THIS_MACHINE]
      .filter(Boolean)
      .join(',');
  return { proxyEnv, authority: readAuthority(env, folder, faults) };
}

function readProxy(text: string): string | null {
  const url = text.includes('://') ? text : `http://${text}`;
  if (!URL.canParse(url)) return null;
  const { protocol, username, password } = new URL(url);
  return /^https?:$/.test(protocol) && isUtf8(username) && isUtf8(password) ? url : null;
}

/** True if Node's agents have the option `proxyEnv` (Node.js 22.21.0 and 24.5.0). */
function canUseProxies(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major === 22 ? minor >= 21 : major === 24 ? minor >= 5 : major > 24;
}

function readAuthority(env: Environment, folder: string, faults: string[]): string | null {
  const name = 'INBOX_API_CA_FILE';
  const file = readNamedFile(env, folder, name, faults);
  if (file === null || hasCertificate(file.text)) return file?.text ?? null;
  faults.push(
    `${name}: ${file.path} holds no certificate; expected PEM, which has -----BEGIN CERTIFICATE-----`,
  );
  return null;
}

function hasCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== undefined;
  } catch {
    return false;
  }
}
