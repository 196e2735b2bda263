import type { Clock } from '../core/clock.ts';
import type { LeaseHolder } from '../mirror/lease.ts';
import { isLeaseValid, type Mirror } from '../mirror/mirror.ts';
import type { ViewSettings } from '../mirror/settings/views.ts';
import { thisProcess } from './claim.ts';
import type { Log } from './log.ts';

/** The daemon that holds the lease. Null if the lease is free, its holder is dead or is not a daemon. */
export async function liveDaemon({
  mirror,
  clock,
}: {
  mirror: Pick<Mirror, 'leaseHolder'>;
  clock: Clock;
}): Promise<LeaseHolder | null> {
  const holder = await mirror.leaseHolder();
  if (holder === null || !isDaemon(holder)) return null;
  return isLeaseValid(holder, thisProcess(), clock.now()) ? holder : null;
}

/**
 * Writes the settings that the views read. While a daemon runs, its own stay: a command on another host may
 * have other ones. Says which differ.
 */
export async function keepViewSettings(
  {
    mirror,
    clock,
    log,
  }: { mirror: Pick<Mirror, 'keepViewSettings' | 'leaseHolder'>; clock: Clock; log: Log },
  settings: ViewSettings,
): Promise<void> {
  const daemon = await liveDaemon({ mirror, clock });
  const others = await mirror.keepViewSettings(settings, clock.now(), daemon === null);
  if (others.length === 0) return;
  const place = daemon === null ? 'before' : 'there';
  const differing = others
    .map(({ name, stored, given }) => `${name.toUpperCase()}=${given} (${place}: ${stored})`)
    .join(', ');
  log.warn(
    daemon === null
      ? `the views have new settings: ${differing}. Hosts that share a mirror need the same ones`
      : `the views keep the settings of the daemon on ${daemon.host}; this command has others: ${differing}`,
  );
}

/** The command that a daemon's lease names. */
export const DAEMON_COMMAND = 'inbox-mirror start';

export function isDaemon({ command }: { readonly command: string }): boolean {
  return command === DAEMON_COMMAND;
}
