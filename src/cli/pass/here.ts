import { isMirrorError } from '../../core/errors.ts';
import { passHere } from '../../library/pass/daemon-or-here.ts';
import type { PassSpec } from '../../mirror/passes/passes.ts';
import type { Session } from '../../session/session.ts';
import type { Streams } from '../../session/terminal.ts';
import { withDisplay } from './display.ts';
import { passExitCode, printOutcome } from './outcome.ts';

const COUNTING =
  'All lists are read. The sums of past days are counted for the daily views, once for each day …';

/**
 * Does a pass in this process, shows the progress, prints the outcome.
 * @returns the exit code
 * @throws MirrorError `LEASE_HELD` before the first request
 */
export async function showPassHere(
  streams: Streams,
  session: Session,
  { spec, json }: { spec: PassSpec; json: boolean },
): Promise<number> {
  const ended = await withDisplay(streams.stderr, session, ({ event, stopping, note }) =>
    passHere(session, spec, { onEvent: event, onStopping: stopping, onCounting: () => note(COUNTING) }),
  );
  const { stopped } = ended.report;
  if (stopped !== null && !isMirrorError(stopped)) throw stopped;
  await printOutcome(streams, session, ended, json);
  return passExitCode(ended.report);
}
