import { SECOND } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Session } from '../../session/session.ts';
import type { Io } from '../../session/terminal.ts';

/** The key is read again once in this many ms, so a new one in its file or in `.env` needs no signal. */
const KEY_POLL_MS = 10 * SECOND;

/** Reads the key again at SIGHUP and every 10 s, until the session closes. */
export function watchKeyFile(io: Io, { keys, log, defer }: Session): void {
  let loggedCause = '';
  const reload = (): void => {
    try {
      if (keys.reload()) log.info('the API key has changed');
      loggedCause = '';
    } catch (error) {
      const cause = messageOf(error);
      if (cause !== loggedCause)
        log.error({ cause }, 'the API key cannot be reloaded; the previous key stays in use');
      loggedCause = cause;
    }
  };
  const stop = io.onHangup?.(() => {
    log.info('SIGHUP: reloading the API key');
    reload();
  });
  if (stop !== undefined) defer(stop);
  const poll = setInterval(reload, KEY_POLL_MS);
  defer(() => clearInterval(poll));
}
