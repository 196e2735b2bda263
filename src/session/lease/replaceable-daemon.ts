import { type Clock, SECOND } from '../../core/clock.ts';
import { type Access, accessId } from '../../core/secrets.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import { type Claim, claimantOf, claimOf } from './claim.ts';
import { isDaemon } from './live-daemon.ts';
import type { Log } from '../log.ts';

/**
 * A refusal that has lasted for this many ms is of the daemon's own key: the daemon clears that of another
 * process's key at its next tick.
 */
const OWN_REFUSAL_MS = 5 * SECOND;

/**
 * The lease's holder, if it is a daemon that sends nothing because the service refuses its key, and this
 * process has another key, which was not refused in the last hour. This process may take the mirror over.
 * Otherwise the daemon would keep the mirror until a person corrects its host.
 */
export async function replaceableDaemon({
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

/**
 * Waits until the daemon whose key was just refused is a {@link replaceableDaemon}.
 * @returns false if it is not, as where this process has the same key
 */
export async function becomesReplaceable(
  { mirror, clock, access }: Pick<Claiming, 'mirror' | 'clock' | 'access'>,
  signal: AbortSignal,
): Promise<boolean> {
  const end = clock.monotonic() + OWN_REFUSAL_MS + SECOND;
  for (;;) {
    if ((await replaceableDaemon({ mirror, clock, access: access() })) !== null) return true;
    const { refusedKey } = await mirror.ledger.gateState();
    if (refusedKey === null || refusedKey === accessId(access()) || clock.monotonic() >= end) return false;
    await clock.sleep(SECOND, signal);
  }
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
  /** As `replaceableDaemon` found it before this session began. */
  readonly replaceable: string | null;
}

/**
 * Claims the mirror for a command, also from a {@link replaceableDaemon}.
 * @throws MirrorError `LEASE_HELD`
 */
export async function claimMirror(
  command: string,
  { mirror, clock, log, access, replaceable }: Claiming,
  stop: AbortSignal,
): Promise<Claim> {
  const replaces = (await replaceableDaemon({ mirror, clock, access: access() })) ?? replaceable;
  const lease = await mirror.acquireLease(claimantOf(command, clock, replaces));
  // An unattended session has not cleared the refusal, and the daemon may have stored it again.
  if (replaces !== null) await mirror.ledger.clearOtherRefusal(accessId(access()));
  return claimOf(lease, { mirror, clock, log, hasReplaced: replaces !== null }, stop);
}
