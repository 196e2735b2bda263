import type { Command } from 'commander';
import { EXIT, isMirrorError } from '../../core/errors.ts';
import type { Io, Runner } from '../../session/terminal.ts';
import type { Load } from '../../sync/planning/load.ts';

export function addStart(program: Command, run: Runner): void {
  program
    .command('start')
    .summary('run the daemon, which keeps the mirror fresh')
    .description(
      'Prints its plan, then reads the lists on their schedules, within the budget, until it is stopped. ' +
        'Carries out the orders of `sync` and `resync`, and serves HTTP on HTTP_HOST and HTTP_PORT. ' +
        'A second daemon on the same mirror stands by, and takes over when the first one ends. ' +
        'Run it under a service manager: it stays in the foreground.',
    )
    .addHelpText(
      'after',
      '\nSignals: SIGTERM or SIGINT stops it after the current page, a second one stops it at once.\n' +
        'SIGHUP makes it read INBOX_API_KEY_FILE again.\n' +
        'See docs/deploy.md for systemd, Docker and Kubernetes, docs/http.md for the endpoints,\n' +
        'docs/logging.md for the log.',
    )
    .action(() => run((io) => runStart(io, program.version() ?? '')));
}

async function runStart(io: Io, version: string): Promise<number> {
  const { createMetrics } = await import('../../daemon/http/metrics.ts');
  const { serveEndpoints } = await import('../../daemon/http/listen.ts');
  const { serveUntilStopped } = await import('../../daemon/standby.ts');
  const { watchKey } = await import('../../daemon/watches/key-file.ts');
  const { A_BUG, endInTime, logUncaught } = await import('../../daemon/watches/last-resort.ts');
  const { systemClock } = await import('../../session/clock.ts');
  const { openSession } = await import('../../session/session.ts');
  const { printPlan } = await import('../output/plan.ts');
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
