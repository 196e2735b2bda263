import { SECOND } from '../core/clock.ts';
import { isMirrorError, isPassingFailure } from '../core/errors.ts';
import type { Claim } from '../session/claim.ts';
import { DAEMON_COMMAND } from '../session/live-daemon.ts';
import type { Log } from '../session/log.ts';
import type { Session } from '../session/session.ts';
import type { Io } from '../session/terminal.ts';
import { serve, type ServeOptions } from './serve.ts';
import { orExitStuck } from './watches/last-resort.ts';

/** A stand-by tries to claim the lease once in this many ms. */
const STANDBY_POLL_MS = SECOND;

const DATABASE_FAILS = 'the database cannot be used; retrying every second';

interface StandbyOptions extends ServeOptions {
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
  while (!io.signal.aborted) {
    const claimed = await waitForLease(io.signal, session, options.onFailure);
    if (claimed === null) return;
    const { claim, hasStoodBy } = claimed;
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

/** Waits until the lease is free, and logs that once. @returns null if the daemon is stopped first */
async function waitForLease(
  signal: AbortSignal,
  session: Session,
  onFailure: ServeOptions['onFailure'],
): Promise<{ claim: Claim; hasStoodBy: boolean } | null> {
  const { mirror, clock, log, claim } = session;
  let databaseFails = false;
  for (let hasStoodBy = false; !signal.aborted; hasStoodBy = true) {
    try {
      const claimed = await orExitStuck(session, () => claim(DAEMON_COMMAND));
      if (hasStoodBy) log.info('took over the mirror');
      return { claim: claimed, hasStoodBy };
    } catch (error) {
      if (isPassingFailure(error)) {
        onFailure(error.message);
        if (!databaseFails) log.error({ cause: error.message }, DATABASE_FAILS);
        databaseFails = true;
        await clock.sleep(STANDBY_POLL_MS, signal).catch(() => undefined);
        continue;
      }
      if (!isMirrorError(error, 'LEASE_HELD')) throw error;
      databaseFails = false;
      onFailure(null);
    }
    if (!hasStoodBy) await orExitStuck(session, () => logHolder(mirror, log));
    await clock.sleep(STANDBY_POLL_MS, signal).catch(() => undefined);
  }
  return null;
}

async function logHolder(mirror: Session['mirror'], log: Log): Promise<void> {
  const holder = await mirror.leaseHolder().catch(() => null);
  const writer =
    holder === null ? 'another process' : `\`${holder.command}\` (process ${holder.pid} on ${holder.host})`;
  log.warn(
    { database: mirror.name, since: holder?.acquiredAt },
    `${writer} writes to this mirror; standing by, to take over within 30 s after it ends. ` +
      'Ctrl-C if one daemon is enough.',
  );
}
