import { EXIT, isMirrorError } from '../../core/errors.ts';
import { serveEndpoints } from '../../daemon/http/listen.ts';
import { createMetrics } from '../../daemon/http/metrics.ts';
import { serveUntilStopped } from '../../daemon/standby.ts';
import { watchKey } from '../../daemon/watches/key-file.ts';
import { A_BUG, endInTime, logUncaught } from '../../daemon/watches/last-resort.ts';
import { systemClock } from '../../session/clock.ts';
import { openSession } from '../../session/session.ts';
import type { Io } from '../../session/terminal.ts';
import type { Load } from '../../sync/planning/load.ts';
import { printPlan } from '../output/plan.ts';

/** Runs the daemon until it is stopped. What is acquired is released in reverse order. @returns the exit code */
export async function runStart(io: Io, version: string): Promise<number> {
  const metrics = createMetrics({ version, clock: systemClock() });
  const session = await openSession(io, { onEnded: metrics.requestEnded, unattended: true });
  try {
    logUncaught(session);
    for (const sentence of session.config.misspelt) session.log.warn(sentence);
    endInTime(io, session);
    const state = { active: false };
    const endpoints = await serveEndpoints(session, {
      metrics,
      version,
      role: () => (state.active ? 'active' : 'standby'),
    });
    watchKey(io, session);
    const duty = {
      begin: async (hasStoodBy: boolean) => {
        state.active = true;
        await endpoints.listen(hasStoodBy);
      },
      end: () => {
        state.active = false;
      },
    };
    const { config, clock } = session;
    const onPlan = (plan: Load): void => printPlan(io.stdout, plan, config.timezone, clock.now());
    await serveUntilStopped(io, session, duty, { metrics, onPlan });
    session.log.info('stopped');
    return EXIT.done;
  } catch (error) {
    // What is known is told as a sentence, as every command does.
    if (isMirrorError(error)) throw error;
    session.log.fatal({ err: error }, A_BUG);
    return EXIT.unexpected;
  } finally {
    await session.close();
  }
}
