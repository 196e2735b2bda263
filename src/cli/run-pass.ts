import { LIST_NAMES, type ListName } from '../core/lists.ts';
import { MirrorError, isMirrorError } from '../core/errors.ts';
import type { PassSpec } from '../store/passes.ts';
import type { Io } from './io.ts';
import { liveDaemon } from './live-daemon.ts';
import { followPass, orderPass } from './ordered-pass.ts';
import { doPass } from './own-pass.ts';
import { passDisplay } from './pass-display.ts';
import { type Session, openSession } from './session.ts';

export interface PassCommand {
  readonly spec: Omit<PassSpec, 'requestedBy'>;
  readonly command: string;
  readonly json: boolean;
  /** Only hands it to the daemon. */
  readonly detach?: boolean;
  /** Runs before the first request; false ends the command there. */
  readonly before?: (session: Session) => Promise<boolean>;
}

/** Words of a person to list names, all of them where none is given. @throws MirrorError `USAGE` */
export function parseLists(words: readonly string[]): readonly ListName[] {
  const unknown = words.filter((word) => !LIST_NAMES.some((list) => list === word));
  if (unknown.length > 0)
    throw new MirrorError(
      'USAGE',
      `There is no list ${unknown.map((word) => `"${word}"`).join(', ')}. The lists are: ${LIST_NAMES.join(', ')}.`,
    );
  return words.length === 0 ? LIST_NAMES : LIST_NAMES.filter((list) => words.includes(list));
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
