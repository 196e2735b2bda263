import { once } from 'node:events';
import { EXIT, isMirrorError, type MirrorError } from '../core/errors.ts';
import { damageOf, type Session } from '../session/session.ts';
import type { Io } from '../session/terminal.ts';
import { openEndpoints } from './http/listen.ts';
import type { Role } from './http/server.ts';
import type { ServeOptions } from './serve.ts';
import { serveUntilStopped, type StandbyOptions } from './standby.ts';
import { limitStopTime } from './stop.ts';
import { DamagedFile } from './watches/damaged-file.ts';
import { watchKeyFile } from './watches/key-file.ts';
import { BUG_MESSAGE, logUncaught } from './watches/last-resort.ts';
import { watchMirrorFile } from './watches/replaced-file.ts';

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
    let failure: string | null = null;
    const onFailure = (why: string | null): void => {
      failure = why;
    };
    const endpoints = await openEndpoints(session, {
      metrics,
      version: io.version,
      role: () => role,
      fault: () => failure,
      onListening,
    });
    watchKeyFile(io, session);
    await serveThroughDamage(io, session, {
      metrics,
      onLoad,
      onFailure,
      onActive: async (hasStoodBy) => {
        role = 'active';
        await endpoints.listen(hasStoodBy);
      },
      onStandby: () => {
        role = 'standby';
      },
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
 * Serves until the daemon is stopped, and parks it where its database is damaged or lost. A daemon that
 * exited would be restarted again and again, and each time it would send requests whose answers it cannot
 * store.
 */
async function serveThroughDamage(io: Io, session: Session, options: StandbyOptions): Promise<void> {
  const { clock, log, config } = session;
  const check = (signal: AbortSignal): Promise<string | null> => damageOf(config.databaseUrl, signal);
  const file = new DamagedFile({ clock, log, check });
  for (;;) {
    try {
      await serveUntilStopped(io, session, options);
      return;
    } catch (error) {
      if (!isMirrorError(error) || !error.isDamage) throw error;
      // Until the loop works again.
      options.onFailure(error.message);
      const lost = error.mayBeWhole ? await waitUntilWhole(io, session, { error, file }) : error;
      if (lost !== null) {
        options.onFailure(lost.message);
        await park(io, session, lost.message);
        return;
      }
    }
  }
}

/**
 * Waits until a check finds the file whole, or until the daemon is stopped.
 * @returns the error that parks the daemon for good: meanwhile a person has replaced the file
 */
async function waitUntilWhole(
  io: Io,
  session: Session,
  { error, file }: { error: MirrorError; file: DamagedFile },
): Promise<MirrorError | null> {
  session.log.error(
    { cause: error.message },
    'the daemon sends nothing more until a check finds the file whole; if none does, stop it, ' +
      'restore a backup, start it',
  );
  const over = new AbortController();
  const replaced = watchMirrorFile(session, over.signal);
  const end = AbortSignal.any([io.signal, replaced]);
  try {
    await file.untilWhole(end);
    session.log.info('the file is whole; resuming');
    return null;
  } catch (thrown) {
    if (!end.aborted) throw thrown;
    return replaced.aborted && isMirrorError(replaced.reason) ? replaced.reason : null;
  } finally {
    over.abort();
  }
}

/** Waits for the stop. */
async function park({ signal }: Io, session: Session, cause: string): Promise<void> {
  session.log.error(
    { cause },
    'the daemon sends nothing more: stop it, do what the cause says or restore a backup, start it',
  );
  if (signal.aborted) return;
  // A damaged file may refuse this. Its log then stays where it is.
  await session.mirror.endWrites().catch(() => undefined);
  // Another file that takes the mirror's place now must not get its log.
  watchMirrorFile(session, signal);
  await once(signal, 'abort');
}
