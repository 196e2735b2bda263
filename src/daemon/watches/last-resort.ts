import { EXIT } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import type { Session } from '../../session/session.ts';
import type { Io } from '../../session/terminal.ts';
import { STUCK_MS } from './stuck.ts';

/** A database that hangs can neither be told that the lease is free nor be closed: the lease runs out by itself. */
const LONGEST_STOP_MS = 9000;
export const A_BUG = 'unexpected error: this is a bug; the daemon ends';

/** Ends the process some time after it was asked to stop, should the database hang. */
export function endInTime({ signal }: Io, { log }: Session): void {
  const end = (): void => {
    log.warn('the database does not answer; stopped without it');
    process.exit(EXIT.done);
  };
  signal.addEventListener('abort', () => void setTimeout(end, LONGEST_STOP_MS).unref());
}

/** Only its end frees a daemon whose database hangs: whoever manages it starts it anew, and a stand-by takes over. */
export function endStuck({ log }: Session): void {
  log.fatal(
    { cause: `no answer for ${duration(STUCK_MS)}` },
    'the database hangs: the daemon ends with 1, to be started anew',
  );
  process.exit(EXIT.unexpected);
}

/** A bug ends the daemon with its cause in the log; every page that was applied is whole, and a service manager starts it again. */
export function logUncaught({ log, defer }: Session): void {
  const end = (error: unknown): void => {
    log.fatal({ err: error }, A_BUG);
    process.exit(EXIT.unexpected);
  };
  process.on('uncaughtException', end);
  defer(() => process.off('uncaughtException', end));
}
