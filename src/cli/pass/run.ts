import { EXIT } from '../../core/errors.ts';
import { byDaemonOrHere } from '../../library/pass/daemon-or-here.ts';
import type { PassSpec } from '../../mirror/passes/passes.ts';
import type { Session } from '../../session/session.ts';
import type { Io } from '../../session/terminal.ts';
import { inboxIdOf } from '../inbox.ts';
import { followPass, orderPass } from './by-daemon.ts';
import { printForecast } from './forecast.ts';
import { showPassHere } from './here.ts';

export interface PassCommand {
  /** Its `inboxId` may be the inbox's name. */
  readonly spec: PassSpec;
  readonly json: boolean;
  /** Only hands the pass to the daemon. */
  readonly detach: boolean;
  /** `first`: prints the forecast of a resync before the pass. `only`: prints it and runs no pass. */
  readonly forecast?: 'first' | 'only' | undefined;
}

/**
 * Runs one pass for `sync` or `resync`: by the daemon if one holds the mirror, else in this process.
 * @returns the exit code
 */
export async function runPassCommand(io: Io, session: Session, command: PassCommand): Promise<number> {
  const { json, detach, forecast } = command;
  for (const sentence of session.config.warnings) session.log.warn(sentence);
  const { inboxId } = command.spec;
  const id = inboxId === null ? null : await inboxIdOf(inboxId, await session.mirror.inboxes());
  const spec = { ...command.spec, inboxId: id };
  const request = { spec, json };
  if (forecast !== undefined) await printForecast(io.stdout, session, spec, json);
  if (forecast === 'only') return EXIT.done;
  if (detach) return await orderPass(io, session, request);
  return await byDaemonOrHere(session, {
    byDaemon: () => followPass(io, session, request),
    here: () => showPassHere(io, session, request),
  });
}
