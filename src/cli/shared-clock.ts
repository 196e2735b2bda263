import type { Clock } from '../core/clock.ts';
import type { Database } from '../store/sql.ts';

/** A difference so small is none: clocks that are kept by NTP are nearer, and the way to the server takes time. */
const TOLERANCE_MS = 100;

/**
 * The clock by which everybody who uses one mirror reckons its ledger and its lease: on a server that server's, since hosts disagree about the time;
 * otherwise the machine's own.
 * @returns `look` finds out again how far the machine's clock is off, which somebody may have set
 */
export async function sharedClock(
  database: Pick<Database, 'serverTime'>,
  machine: Clock,
): Promise<{ clock: Clock; look(): Promise<void> }> {
  let offset = 0;
  async function look(): Promise<void> {
    const before = machine.now();
    const server = await database.serverTime();
    const after = machine.now();
    if (server === null) return;
    const found = Math.round(server - (before + after) / 2);
    if (Math.abs(found - offset) > TOLERANCE_MS + Math.abs(after - before)) offset = found;
  }
  await look();
  const clock: Clock = {
    ...machine,
    now: () => machine.now() + offset,
    boot: () => {
      const { host, id, at } = machine.boot();
      return { host, id, at: at + offset };
    },
  };
  return { clock, look };
}
