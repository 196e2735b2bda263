import { isMirrorError } from '../../core/errors.ts';
import type { PassSpec } from '../../mirror/passes/passes.ts';
import type { Session } from '../../session/session.ts';
import type { Io } from '../../session/terminal.ts';
import { runPass } from '../../sync/pass.ts';
import { markDue } from '../../sync/planning/due.ts';
import { cronsOf } from '../../sync/planning/freshness.ts';
import type { PassDisplay } from './display.ts';
import { passExitCode, printOutcome } from './outcome.ts';

/**
 * Does a pass in this process: claim, walk with a display, report. @returns the exit code
 * @throws MirrorError `LEASE_HELD` before anything is done
 */
export async function doPass(
  io: Io,
  session: Session,
  display: PassDisplay,
  { spec, json }: { spec: PassSpec; json: boolean },
): Promise<number> {
  const { config, clock, client, log } = session;
  const { mirror, signal } = await session.claim(spec.requestedBy);
  // The view `freshness` holds the lists to their schedules, also where no daemon ever runs.
  await markDue(mirror.schedules, cronsOf(config.schedules, config.timezone), clock.now());
  const sentBefore = await mirror.budget.sentToday(clock.now());
  const startedAt = clock.now();
  const startedMonotonic = clock.monotonic();
  const onAbort = (): void => display.stopping();
  signal.addEventListener('abort', onAbort);
  display.begin({ budget: config.budget, sentBefore });
  let report;
  try {
    const deps = {
      client,
      mirror,
      clock,
      signal,
      onEvent: (event: Parameters<PassDisplay['event']>[0]) => display.event(event, log),
    };
    report = await runPass(deps, spec);
  } finally {
    signal.removeEventListener('abort', onAbort);
    display.end();
  }
  if (report.stopped !== null && !isMirrorError(report.stopped)) throw report.stopped;

  const cost = {
    requests: await mirror.budget.sentSince(startedAt - 1),
    milliseconds: clock.monotonic() - startedMonotonic,
  };
  await printOutcome(io, session, report, { cost, order: null, json });
  return passExitCode(report);
}
