import { isIP } from 'node:net';

/**
 * True where a request's `Host` header names this daemon: a plain address, `localhost`, or one of `names` (lower case).
 * A page of another site whose name was made to point here (DNS rebinding) still sends its own name, and so learns nothing.
 */
export function isOurHost(header: string | undefined, names: readonly string[]): boolean {
  const parts = /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:[\]]+))(?::\d*)?$/.exec(header?.trim() ?? '')?.groups;
  if (parts === undefined) return false;
  const { v6, name } = parts;
  if (v6 !== undefined) return isIP(v6) === 6;
  const plain = (name ?? '').toLowerCase().replace(/\.$/, '');
  return isIP(plain) === 4 || plain === 'localhost' || names.includes(plain);
}
