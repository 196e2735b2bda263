import { createMetrics } from '../../daemon/http/metrics.ts';
import { runDaemon } from '../../daemon/run.ts';
import { systemClock } from '../../session/clock.ts';
import { openSession } from '../../session/session.ts';
import type { Io } from '../../session/terminal.ts';
import type { Load } from '../../sync/planning/load.ts';
import { printPlan } from '../output/plan.ts';

/** Runs the daemon until it is stopped, and prints its plan at the start. @returns the exit code */
export async function runStart(io: Io, version: string): Promise<number> {
  const metrics = createMetrics({ version, clock: systemClock() });
  const session = await openSession(io, { onEnded: metrics.requestEnded, unattended: true });
  const { config, clock } = session;
  const onPlan = (plan: Load): void => printPlan(io.stdout, plan, config.timezone, clock.now());
  try {
    return await runDaemon(io, session, { version, metrics, onPlan });
  } finally {
    await session.close();
  }
}
