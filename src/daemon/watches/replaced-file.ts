import { SECOND } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import type { Session } from '../../session/session.ts';

/** The mirror's file is checked once in this many ms. */
const FILE_POLL_MS = SECOND;

/**
 * The signal is aborted when a file of the mirror is deleted, replaced or cut. Writes to the old file would
 * be lost, with them the ledger's rows, and the next command would send requests beside this daemon. The
 * error is one that parks the daemon.
 * @param until ends the watch
 */
export function watchMirrorFile({ mirror }: Session, until: AbortSignal): AbortSignal {
  const replaced = new AbortController();
  const check = (): void => {
    // Also after the loss: another file may take the place of one that was moved away.
    const path = mirror.lostFile();
    if (path === null || replaced.signal.aborted) return;
    replaced.abort(new MirrorError('DATABASE', lost(path, mirror.name), { isDamage: true }));
  };
  const poll = setInterval(check, FILE_POLL_MS);
  until.addEventListener('abort', () => clearInterval(poll));
  // A stand-by may have opened the file long ago.
  check();
  return replaced.signal;
}

function lost(path: string, database: string): string {
  const happened = `The file ${path} was deleted, replaced or made smaller while the daemon ran.`;
  const why = 'The daemon sends nothing more, because its ledger would be lost.';
  return path === database
    ? `${happened} ${why} Stop it, make sure that the right mirror is there, and start it again. If the ` +
        'file was overwritten in place, restore a backup first.'
    : `${happened} ${why} Stop it: it then writes what it still holds into ${database}. That would damage ` +
        'what another program, such as `inbox-mirror sync`, has written there since: if one has, kill the ' +
        'daemon with SIGKILL instead. Then start it again.';
}
