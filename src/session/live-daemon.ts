import { type Clock, SECOND } from '../core/clock.ts';
import { type Access, accessId } from '../core/secrets.ts';
import type { LeaseHolder } from '../mirror/lease.ts';
import { isLeaseValid, type Mirror } from '../mirror/mirror.ts';
import type { ViewSettings } from '../mirror/settings/views.ts';
import { type Claim, claimantOf, claimOf, thisProcess } from './claim.ts';
import type { Log } from './log.ts';

/**
 * The daemon that holds the lease. Null if the lease is free, its holder is dead or is not a daemon, or is
 * the one of {@link parkedDaemon}: its work is this process's.
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

/**
 * A daemon clears the refusal of another process's key at its next tick. One that stays for this many ms is
 * of its own key.
 */
const OWN_REFUSAL_MS = 5 * SECOND;

/**
 * The lease's holder, if it is a daemon that sends nothing because the service refuses its key, and this
 * process has another key, which was not refused lately. This process may take the mirror over: the daemon
 * would wait for a person on its host for good.
 */
export async function parkedDaemon({
  mirror,
  clock,
  access,
}: {
  mirror: Pick<Mirror, 'leaseHolder' | 'ledger'>;
  clock: Clock;
  access: Access;
}): Promise<string | null> {
  const { refusedKey, refusedAt } = await mirror.ledger.gateState();
  const own = accessId(access);
  if (refusedKey === null || refusedKey === own || refusedAt === null) return null;
  const holder = await mirror.leaseHolder();
  if (holder === null || !isDaemon(holder)) return null;
  const since = Math.max(refusedAt.getTime(), holder.acquiredAt.getTime());
  if (clock.now() - since < OWN_REFUSAL_MS) return null;
  return (await isRefusedLately({ mirror, clock, access })) ? null : holder.holder;
}

/** True if the service refused the key of this process less than an hour ago. */
export async function isRefusedLately({
  mirror,
  clock,
  access,
}: {
  mirror: Pick<Mirror, 'ledger'>;
  clock: Clock;
  access: Access;
}): Promise<boolean> {
  const refusal = await mirror.ledger.lastRefusal(accessId(access));
  const now = clock.now();
  return refusal !== null && refusal.at.getTime() <= now && now < refusal.until.getTime();
}

interface Claiming {
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly log: Log;
  readonly access: () => Access;
  /** As `parkedDaemon` found it before this session began. */
  readonly parked: string | null;
}

/**
 * Claims the mirror for a command, also from the daemon of {@link parkedDaemon}.
 * @throws MirrorError `LEASE_HELD`
 */
export async function claimMirror(
  command: string,
  { mirror, clock, log, access, parked }: Claiming,
  stop: AbortSignal,
): Promise<Claim> {
  const replaces = (await parkedDaemon({ mirror, clock, access: access() })) ?? parked;
  const lease = await mirror.acquireLease(claimantOf(command, clock, replaces));
  if (replaces !== null) await mirror.ledger.passOtherRefusal(accessId(access()));
  return { ...claimOf(lease, { mirror, clock, log }, stop), hasReplaced: replaces !== null };
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
