import { SECOND } from '../core/clock.ts';
import { isMirrorError, isPassingFailure } from '../core/errors.ts';
import type { Claim } from '../session/lease/claim.ts';
import { DAEMON_COMMAND } from '../session/lease/live-daemon.ts';
import { isRefusedLately } from '../session/lease/replaceable-daemon.ts';
import type { Session } from '../session/session.ts';
import type { Io } from '../session/terminal.ts';
import { serve, type ServeOptions } from './serve.ts';
import { orExitStuck } from './watches/last-resort.ts';

/** A stand-by tries to claim the lease once in this many ms. */
const STANDBY_POLL_MS = SECOND;

const DATABASE_FAILS = 'the database cannot be used; retrying every second';

export interface StandbyOptions extends ServeOptions {
  /** Called when this process has the lease. @param hasStoodBy it had to wait for the lease */
  readonly onActive: (hasStoodBy: boolean) => Promise<void>;
  /** Called when this process gives up the lease or has lost it. */
  readonly onStandby: () => void;
}

/** Serves while it holds the lease, and stands by while another process holds it, until it is stopped. */
export async function serveUntilStopped(
  io: Io,
  session: Session,
  { onActive, onStandby, ...options }: StandbyOptions,
): Promise<void> {
  const { clock, log } = session;
  let databaseFails = false;
  let hasServed = false;
  while (!io.signal.aborted) {
    const claimed = await waitForLease(io.signal, session, { hasServed, onFailure: options.onFailure });
    if (claimed === null) return;
    const { claim, hasStoodBy } = claimed;
    hasServed = true;
    try {
      await onActive(hasStoodBy);
      await serve(io, session, claim, options);
    } catch (error) {
      if (isMirrorError(error, 'LEASE_LOST')) {
        log.warn('another process took over the mirror; standing by');
        databaseFails = false;
        continue;
      }
      if (!isPassingFailure(error)) throw error;
      options.onFailure(error.message);
      // `serve` failed before the daemon's first tick. From that tick on, the daemon waits for the database.
      if (!databaseFails) log.error({ cause: error.message }, DATABASE_FAILS);
      databaseFails = true;
      await clock.sleep(STANDBY_POLL_MS, io.signal).catch(() => undefined);
    } finally {
      onStandby();
      await claim.release();
    }
  }
}

/** Waits until it has the lease, and logs why. @returns null if the daemon is stopped first */
async function waitForLease(
  signal: AbortSignal,
  session: Session,
  { hasServed, onFailure }: Pick<ServeOptions, 'onFailure'> & { readonly hasServed: boolean },
): Promise<{ claim: Claim; hasStoodBy: boolean } | null> {
  const { clock, log } = session;
  let databaseFails = false;
  let logged: Wait | null = null;
  for (let hasStoodBy = false; !signal.aborted; hasStoodBy = true) {
    try {
      const claimed = await tryToClaim(session, !hasServed && !hasStoodBy);
      if (typeof claimed !== 'string') {
        const hasTakenOver = hasStoodBy || claimed.hasReplaced;
        if (hasTakenOver) log.info('took over the mirror');
        return { claim: claimed, hasStoodBy: hasTakenOver };
      }
      databaseFails = false;
      onFailure(null);
      if (claimed !== logged) await orExitStuck(session, () => logWait(claimed, session));
      logged = claimed;
    } catch (error) {
      if (!isPassingFailure(error)) throw error;
      onFailure(error.message);
      if (!databaseFails) log.error({ cause: error.message }, DATABASE_FAILS);
      databaseFails = true;
    }
    await clock.sleep(STANDBY_POLL_MS, signal).catch(() => undefined);
  }
  return null;
}

/** Why a stand-by waits: another process holds the lease, or the service refuses the stand-by's key. */
type Wait = 'held' | 'refused';

/**
 * Claims the lease, unless the key of this process was refused lately.
 * @param isFirst this process has neither held the lease nor stood by: it claims the lease with any key
 */
async function tryToClaim(session: Session, isFirst: boolean): Promise<Claim | Wait> {
  const { mirror, clock, access } = session;
  const isRefused = () => isRefusedLately({ mirror, clock, access: access() });
  if (!isFirst && (await orExitStuck(session, isRefused))) return 'refused';
  try {
    return await orExitStuck(session, () => session.claim(DAEMON_COMMAND));
  } catch (error) {
    if (isMirrorError(error, 'LEASE_HELD')) return 'held';
    throw error;
  }
}

async function logWait(wait: Wait, { mirror, log }: Session): Promise<void> {
  if (wait === 'refused') {
    log.warn(
      'the service refused the key of this daemon; it stands by until the key changes, a person runs ' +
        '`inbox-mirror doctor`, or an hour has passed',
    );
    return;
  }
  const holder = await mirror.leaseHolder().catch(() => null);
  const writer =
    holder === null ? 'another process' : `\`${holder.command}\` (process ${holder.pid} on ${holder.host})`;
  log.warn(
    { database: mirror.name, since: holder?.acquiredAt },
    `${writer} writes to this mirror; standing by, to take over within 30 s after it ends. ` +
      'Ctrl-C if one daemon is enough.',
  );
}
