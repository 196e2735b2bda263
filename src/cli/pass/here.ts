import { isMirrorError } from '../../core/errors.ts';
import type { PassSpec } from '../../mirror/passes/passes.ts';
import type { Session } from '../../session/session.ts';
import type { Streams } from '../../session/terminal.ts';
import { runPass } from '../../sync/pass.ts';
import { markDue } from '../../sync/planning/due.ts';
import { cronsOf } from '../../sync/planning/cron.ts';
import { withDisplay } from './display.ts';
import { passExitCode, printOutcome } from './outcome.ts';

/**
 * Does a pass in this process: claims the mirror, shows the progress, prints the outcome.
 * @returns the exit code
 * @throws MirrorError `LEASE_HELD` before the first request
 */
export async function doPass(
  streams: Streams,
  session: Session,
  { spec, json }: { spec: PassSpec; json: boolean },
): Promise<number> {
  const { config, clock, client } = session;
  const { mirror, signal } = await session.claim(spec.requestedBy);
  // The view `freshness` compares the lists with their schedules, even if no daemon ever runs.
  await markDue(mirror.schedules, cronsOf(config.schedules, config.timezone), clock.now());
  const startedAt = clock.now();
  const startedMonotonic = clock.monotonic();
  const report = await withDisplay(streams.stderr, session, async ({ event, stopping }) => {
    signal.addEventListener('abort', stopping);
    try {
      return await runPass(
        { client, mirror, clock, goneAfterMs: config.goneAfterMs, signal, onEvent: event },
        spec,
      );
    } finally {
      signal.removeEventListener('abort', stopping);
    }
  });
  if (report.stopped !== null && !isMirrorError(report.stopped)) throw report.stopped;

  const cost = {
    requests: await mirror.budget.sentSince(startedAt - 1),
    milliseconds: clock.monotonic() - startedMonotonic,
  };
  await printOutcome(streams, session, report, { cost, order: null, json });
  return passExitCode(report);
}
