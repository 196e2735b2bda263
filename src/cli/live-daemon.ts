import { hostname } from 'node:os';
import type { Clock } from '../core/clock.ts';
import { isDaemon } from '../daemon/status-judge.ts';
import { type LeaseHolder, isValid, readLease } from '../store/leases.ts';
import type { Sql } from '../store/sql.ts';
import { isAlive } from './machine.ts';

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
