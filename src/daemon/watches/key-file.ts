import { SECOND } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Session } from '../../session/session.ts';
import type { Io } from '../../session/terminal.ts';

/** A changed key file is seen so soon, without a signal. */
const KEY_POLL_MS = 10 * SECOND;

/** SIGHUP reads the key file again; a file that changes is seen without it. */
export function watchKey(io: Io, { keys, log, defer }: Session): void {
  let said = '';
  const reload = (): void => {
    try {
      if (keys.reload()) log.info('the API key is another one now');
      said = '';
    } catch (error) {
      const cause = messageOf(error);
      if (cause !== said) log.error({ cause }, 'the API key cannot be read again; the old one stays in use');
      said = cause;
    }
  };
  const stop = io.onHangup?.(() => {
    log.info('SIGHUP: reading the API key again');
    reload();
  });
  if (stop !== undefined) defer(stop);
  const poll = setInterval(reload, KEY_POLL_MS);
  defer(() => clearInterval(poll));
}
