import { isMirrorError } from '../core/errors.ts';
import type { Claim } from '../session/claim.ts';
import { DAEMON_COMMAND } from '../session/live-daemon.ts';
import type { Session } from '../session/session.ts';
import type { Io } from '../session/terminal.ts';
import { serve, type ServeOptions } from './serve.ts';

const STANDBY_POLL_MS = 1000;

interface Duty {
  begin(hasStoodBy: boolean): Promise<void>;
  end(): void;
}

/** Holds the lease and serves, or stands by until it can; again and again, should another process take the lease over. */
export async function serveUntilStopped(
  io: Io,
  session: Session,
  duty: Duty,
  options: ServeOptions,
): Promise<void> {
  while (!io.signal.aborted) {
    const stood = await standBy(io.signal, session);
    if (stood === null) return;
    const { claim, waited } = stood;
    try {
      await duty.begin(waited);
      await serve(io, session, claim, options);
    } catch (error) {
      if (!isMirrorError(error, 'LEASE_LOST')) throw error;
      session.log.warn('another process has taken the mirror over; this one stands by');
    } finally {
      duty.end();
      await claim.release();
    }
  }
}

/** Waits until the lease is free, saying so once. Null where the daemon is to stop before. */
async function standBy(
  signal: AbortSignal,
  { mirror, clock, log, claim }: Session,
): Promise<{ claim: Claim; waited: boolean } | null> {
  let failing = false;
  for (let waited = false; !signal.aborted; waited = true) {
    try {
      const claimed = await claim(DAEMON_COMMAND);
      if (waited) log.info('took over the mirror');
      return { claim: claimed, waited };
    } catch (error) {
      if (isMirrorError(error, 'DATABASE')) {
        // A server that is being restarted comes back.
        if (!failing)
          log.error({ cause: error.message }, 'the database cannot be used; trying again every second');
        failing = true;
        await clock.sleep(STANDBY_POLL_MS, signal).catch(() => undefined);
        continue;
      }
      if (!isMirrorError(error, 'LEASE_HELD')) throw error;
      failing = false;
    }
    if (!waited) {
      const holder = await mirror.leaseHolder().catch(() => null);
      const who =
        holder === null
          ? 'another process'
          : `\`${holder.command}\`, process ${holder.pid} on ${holder.host}`;
      log.warn(
        { database: mirror.name, since: holder?.acquiredAt },
        `${who}, writes to this mirror; standing by, and taking over within 30 s of its end`,
      );
    }
    await clock.sleep(STANDBY_POLL_MS, signal).catch(() => undefined);
  }
  return null;
}
