import { EXIT } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import type { Session } from '../../session/session.ts';
import { STUCK_MS, waitUntilStuck } from './stuck.ts';

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

/** Ends the process if this work with the database gets no answer, see {@link exitStuck}. */
export async function orExitStuck<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  const { clock } = session;
  const over = new AbortController();
  const begun = { lastTickAt: clock.monotonic() };
  void waitUntilStuck(begun, { clock, signal: over.signal }).then((isStuck) => isStuck && exitStuck(session));
  try {
    return await work();
  } finally {
    over.abort();
  }
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
