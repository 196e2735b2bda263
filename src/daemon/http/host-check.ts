import { isIP } from 'node:net';

/**
 * True if a request's `Host` header names this daemon: an IP address, `localhost`, or one of `names` (lower
 * case). A web page that points its own name at this address (DNS rebinding) still sends that name, and is
 * refused.
 */
export function isOurHost(header: string | undefined, names: readonly string[]): boolean {
  const parts = /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:[\]]+))(?::\d*)?$/.exec(header?.trim() ?? '')?.groups;
  if (parts === undefined) return false;
  const { v6, name } = parts;
  if (v6 !== undefined) return isIP(v6) === 6;
  const plain = (name ?? '').toLowerCase().replace(/\.$/, '');
  return isIP(plain) === 4 || plain === 'localhost' || names.includes(plain);
}
