import { SECOND } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import type { Session } from '../../session/session.ts';

const FILE_POLL_MS = SECOND;

/**
 * Aborted when the mirror's file is deleted or replaced. Writes to the old file would be lost, the ledger's too, and the next
 * command would send requests beside this daemon.
 */
export function whenReplaced({ mirror, defer }: Session): AbortSignal {
  const replaced = new AbortController();
  const opened = mirror.fileIdentity();
  // A server's tables cannot be replaced unnoticed.
  if (opened === null) return replaced.signal;
  const poll = setInterval(() => {
    if (mirror.fileIdentity() === opened) return;
    clearInterval(poll);
    const message = `The database ${mirror.name} was deleted or replaced while the daemon ran. It ends, so that nothing is sent that no ledger knows of; start it again.`;
    replaced.abort(new MirrorError('DATABASE', message));
  }, FILE_POLL_MS);
  defer(() => clearInterval(poll));
  return replaced.signal;
}
