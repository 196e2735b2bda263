import { SECOND } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import type { Session } from '../../session/session.ts';

/** The mirror's file is checked once in this many ms. */
const FILE_POLL_MS = SECOND;

/**
 * The signal is aborted when the mirror's file is deleted or replaced. Writes to the old file would be lost,
 * with them the ledger's rows, and the next command would send requests beside this daemon.
 */
export function watchMirrorFile({ mirror, defer }: Session): AbortSignal {
  const replaced = new AbortController();
  const opened = mirror.fileIdentity();
  // Null: a database server, whose tables cannot be replaced unnoticed.
  if (opened === null) return replaced.signal;
  const poll = setInterval(() => {
    if (mirror.fileIdentity() === opened) return;
    clearInterval(poll);
    const message =
      `The database ${mirror.name} was deleted or replaced while the daemon ran. ` +
      'The daemon exits, so that no request leaves without a row in the ledger. Start it again.';
    replaced.abort(new MirrorError('DATABASE', message));
  }, FILE_POLL_MS);
  defer(() => clearInterval(poll));
  return replaced.signal;
}
