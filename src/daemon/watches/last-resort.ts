import { SECOND } from '../../core/clock.ts';
import { EXIT } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import type { Session } from '../../session/session.ts';
import type { Io } from '../../session/terminal.ts';
import { STUCK_MS } from './stuck.ts';

/** A stop takes at most this many ms. If the database hangs, the lease stays and expires by itself. */
const LONGEST_STOP_MS = 9 * SECOND;

export const BUG_MESSAGE = 'unexpected error: this is a bug; the daemon exits';

/** Ends the process `LONGEST_STOP_MS` after the request to stop, should the database hang. */
export function limitStopTime({ signal }: Io, { log }: Session): void {
  const end = (): void => {
    log.warn('the database does not answer; exiting without closing it');
    process.exit(EXIT.done);
  };
  signal.addEventListener('abort', () => void setTimeout(end, LONGEST_STOP_MS).unref());
}

/**
 * Ends a daemon whose database hangs. A service manager restarts it, and a stand-by takes over
 * (docs/decisions/0004).
 */
export function exitStuck({ log }: Session): void {
  log.fatal(
    { cause: `no answer for ${duration(STUCK_MS)}` },
    'the database hangs; the daemon exits with 1, to be restarted',
  );
  process.exit(EXIT.unexpected);
}

/** Makes an uncaught error end the daemon with its cause in the log. Every applied page is whole. */
export function logUncaught({ log, defer }: Session): void {
  const end = (error: unknown): void => {
    log.fatal({ err: error }, BUG_MESSAGE);
    process.exit(EXIT.unexpected);
  };
  process.on('uncaughtException', end);
  defer(() => process.off('uncaughtException', end));
}
