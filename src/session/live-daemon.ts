import { hostname } from 'node:os';
import type { Clock } from '../core/clock.ts';
import type { Sql } from '../database/database.ts';
import { isValid, type LeaseHolder, readLease } from '../mirror/lease.ts';
import { isAlive } from './claim.ts';

/** The daemon that holds the mirror now; null where it is free, its holder is dead, or another command holds it. */
export async function liveDaemon({
  database,
  clock,
}: {
  database: Sql;
  clock: Clock;
}): Promise<LeaseHolder | null> {
  const held = await readLease(database);
  if (held === null || !isDaemon(held)) return null;
  return isValid(held, { host: hostname(), pid: process.pid, isAlive }, clock.now()) ? held : null;
}

/** The name by which a daemon holds the lease. */
export const DAEMON_COMMAND = 'inbox-mirror start';

export function isDaemon({ command }: { readonly command: string }): boolean {
  return command === DAEMON_COMMAND;
}
