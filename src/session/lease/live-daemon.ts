import type { Clock } from '../../core/clock.ts';
import type { LeaseHolder } from '../../mirror/lease.ts';
import { isLeaseValid, type Mirror } from '../../mirror/mirror.ts';
import { thisProcess } from './claim.ts';

/**
 * The daemon that holds the lease. Null if the lease is free, or its holder is dead or is not a daemon.
 * @param replaceable a holder that counts as none: this process may replace it (`replaceableDaemon`)
 */
export async function liveDaemon({
  mirror,
  clock,
  replaceable = null,
}: {
  mirror: Pick<Mirror, 'leaseHolder'>;
  clock: Clock;
  replaceable?: string | null;
}): Promise<LeaseHolder | null> {
  const holder = await mirror.leaseHolder();
  if (holder === null || !isDaemon(holder) || holder.holder === replaceable) return null;
  return isLeaseValid(holder, thisProcess(), clock.now()) ? holder : null;
}

/** The command that a daemon's lease names. */
export const DAEMON_COMMAND = 'inbox-mirror start';

export function isDaemon({ command }: { readonly command: string }): boolean {
  return command === DAEMON_COMMAND;
}
