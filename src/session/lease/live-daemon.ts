import type { Clock } from '../../core/clock.ts';
import type { LeaseHolder } from '../../mirror/lease.ts';
import { isLeaseValid, type Mirror } from '../../mirror/mirror.ts';
import { thisProcess } from './claim.ts';

/**
 * The daemon that holds the lease. Null if the lease is free, or its holder is dead or is not a daemon.
 * @param parked a holder that this process may replace (`parkedDaemon`), which counts as none; null: none
 */
export async function liveDaemon({
  mirror,
  clock,
  parked = null,
}: {
  mirror: Pick<Mirror, 'leaseHolder'>;
  clock: Clock;
  parked?: string | null;
}): Promise<LeaseHolder | null> {
  const holder = await mirror.leaseHolder();
  if (holder === null || !isDaemon(holder) || holder.holder === parked) return null;
  return isLeaseValid(holder, thisProcess(), clock.now()) ? holder : null;
}

/** The command that a daemon's lease names. */
export const DAEMON_COMMAND = 'inbox-mirror start';

export function isDaemon({ command }: { readonly command: string }): boolean {
  return command === DAEMON_COMMAND;
}
