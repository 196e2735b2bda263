import { existsSync, realpathSync } from 'node:fs';

/** The name of a PostgreSQL mirror (`addressOf`): its role, its host or socket's folder, and the rest. */
const POSTGRES = /^postgresql:\/\/(?:[^/]*@)?(.*?)(\/[^/]*)$/;

/** This machine, as the host of an address. A folder is that of the server's socket. */
const THIS_MACHINE = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|\/.*)(?=:\d+$|$)/;

/**
 * The place of a mirror, which is equal for most spellings of its name: the file behind links, or a server's
 * database and schema without the role. Otherwise the mirror would count its own requests as another's.
 * @param name of the mirror, as messages have it
 */
export function placeOf(name: string): string {
  const [, host, rest] = POSTGRES.exec(name) ?? [];
  if (host === undefined || rest === undefined) return existsSync(name) ? realpathSync(name) : name;
  return `postgresql://${host.replace(THIS_MACHINE, 'localhost').replace(/:5432$/, '')}${rest}`;
}
