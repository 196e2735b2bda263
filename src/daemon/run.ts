import { once } from 'node:events';
import { EXIT, isMirrorError } from '../core/errors.ts';
import type { Session } from '../session/session.ts';
import type { Io } from '../session/terminal.ts';
import { openEndpoints } from './http/listen.ts';
import type { Role } from './http/server.ts';
import type { ServeOptions } from './serve.ts';
import { serveUntilStopped } from './standby.ts';
import { limitStopTime } from './stop.ts';
import { watchKeyFile } from './watches/key-file.ts';
import { BUG_MESSAGE, logUncaught } from './watches/last-resort.ts';

export interface RunOptions extends Omit<ServeOptions, 'onFailure'> {
  /** Called with the address of the pages when they can be opened. */
  readonly onListening: (address: string) => void;
}

/**
 * The daemon's life, from the open session to the stop. Everything that it acquires is released in reverse
 * order when the caller closes the session.
 * @returns the exit code; an unknown error is a bug, which is logged
 * @throws MirrorError for the command to print as a sentence
 */
export async function runDaemon(
  io: Io,
  session: Session,
  { metrics, onLoad, onListening }: RunOptions,
): Promise<number> {
  const { config, log } = session;
  try {
    logUncaught(session);
    for (const warning of config.warnings) log.warn(warning);
    limitStopTime(io, session);
    let role: Role = 'standby';
    let damage: string | null = null;
    let failure: string | null = null;
    const endpoints = await openEndpoints(session, {
      metrics,
      version: io.version,
      role: () => role,
      fault: () => damage ?? failure,
      onListening,
    });
    watchKeyFile(io, session);
    const serving = serveUntilStopped(io, session, {
      metrics,
      onLoad,
      onFailure: (why) => {
        failure = why;
      },
      onActive: async (hasStoodBy) => {
        role = 'active';
        await endpoints.listen(hasStoodBy);
      },
      onStandby: () => {
        role = 'standby';
      },
    });
    await serving.catch(async (error: unknown) => {
      if (!isMirrorError(error) || !error.isDamage) throw error;
      damage = error.message;
      await park(io, session, damage);
    });
    log.info('stopped');
    return EXIT.done;
  } catch (error) {
    if (isMirrorError(error)) throw error;
    log.fatal({ err: error }, BUG_MESSAGE);
    return EXIT.unexpected;
  }
}

/**
 * Waits for the stop. A daemon that exited would be restarted again and again, and each time it would send
 * requests whose answers it cannot store.
 */
async function park({ signal }: Io, { log }: Session, cause: string): Promise<void> {
  log.error(
    { cause },
    'the daemon sends nothing more: stop it, do what the cause says or restore a backup, start it',
  );
  if (!signal.aborted) await once(signal, 'abort');
}
