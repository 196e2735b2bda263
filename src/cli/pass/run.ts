import { isMirrorError } from '../../core/errors.ts';
import type { PassSpec } from '../../mirror/passes/passes.ts';
import { liveDaemon } from '../../session/live-daemon.ts';
import { openSession, type Session } from '../../session/session.ts';
import type { Io } from '../../session/terminal.ts';
import { followPass, orderPass } from './by-daemon.ts';
import { passDisplay } from './display.ts';
import { doPass } from './here.ts';

export interface PassCommand {
  readonly spec: Omit<PassSpec, 'requestedBy'>;
  readonly command: string;
  readonly json: boolean;
  /** Only hands it to the daemon. */
  readonly detach?: boolean;
  /** Runs before the first request; false ends the command there. */
  readonly before?: (session: Session) => Promise<boolean>;
}

/** Runs one pass as `sync` and `resync` do: by the daemon where one holds the mirror, else in this process. @returns the exit code */
export async function runPassCommand(
  io: Io,
  { spec, command, json, detach = false, before }: PassCommand,
): Promise<number> {
  const display = passDisplay(io.stderr, () => Date.now());
  const session = await openSession(io, {
    writeLog: (line) => display.writeLog(line),
    onGateEvent: (event) => display.gateEvent(event),
  });
  for (const sentence of session.config.misspelt) session.log.warn(sentence);
  const wanted = { spec: { ...spec, requestedBy: command }, json };
  try {
    if (before !== undefined && !(await before(session))) return 0;
    if (detach) return await orderPass(io, session, wanted);
    for (;;) {
      if ((await liveDaemon(session)) !== null) {
        const exitCode = await followPass(io, session, display, wanted);
        if (exitCode !== null) return exitCode;
      }
      try {
        return await doPass(io, session, display, wanted);
      } catch (error) {
        // A daemon may have been started between the look and the claim: then the work is its own.
        if (!isMirrorError(error, 'LEASE_HELD') || (await liveDaemon(session)) === null) throw error;
      }
    }
  } finally {
    await session.close();
  }
}
