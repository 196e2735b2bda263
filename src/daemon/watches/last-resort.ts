import { EXIT } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import type { Session } from '../../session/session.ts';
import { STUCK_MS } from './stuck.ts';

export const BUG_MESSAGE = 'unexpected error: this is a bug; the daemon exits';

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
