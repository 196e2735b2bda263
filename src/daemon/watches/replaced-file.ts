import { MirrorError } from '../../core/errors.ts';
import { isPostgres } from '../../database/open.ts';
import { fileIdentity, sqlitePath } from '../../database/sqlite/file.ts';
import type { Session } from '../../session/session.ts';

const FILE_POLL_MS = 1000;

/**
 * Aborted when the mirror's file is not the one any more that was opened: what is written to it then nobody sees, its ledger neither, and the next
 * command would send requests beside this daemon.
 */
export function whenReplaced({ config, defer }: Session): AbortSignal {
  const replaced = new AbortController();
  // A server's tables do not change places behind its back.
  if (isPostgres(config.databaseUrl)) return replaced.signal;
  const path = sqlitePath(config.databaseUrl);
  const opened = fileIdentity(path);
  const look = setInterval(() => {
    if (fileIdentity(path) === opened) return;
    clearInterval(look);
    const message = `The database ${path} was deleted or replaced while the daemon ran. It ends, so that nothing is sent that no ledger knows of; start it again.`;
    replaced.abort(new MirrorError('DATABASE', message));
  }, FILE_POLL_MS);
  defer(() => clearInterval(look));
  return replaced.signal;
}
