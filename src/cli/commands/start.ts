import type { Command } from 'commander';
import type { Session } from '../../session/session.ts';
import { type Io, paint, printLine } from '../../session/terminal.ts';
import type { Load } from '../../sync/planning/load/load.ts';
import type { Runner } from '../options.ts';

export function addStart(program: Command, run: Runner): void {
  program
    .command('start')
    .summary('run the daemon, which keeps the mirror fresh')
    .description(
      'Prints its schedules and their cost, then reads the lists by them, within the budget, until it is ' +
        'stopped. Carries out the orders of `sync` and `resync`. Serves HTTP on HTTP_HOST and HTTP_PORT. ' +
        'A second daemon on the same mirror stands by, and takes over when the first one ends, or when the ' +
        'service refuses only the key of the first one. ' +
        'Run it under a service manager: it stays in the foreground.',
    )
    .addHelpText(
      'after',
      '\nSIGTERM or SIGINT stops it after the current page, a second one at once.\n' +
        'SIGHUP makes it read INBOX_API_KEY_FILE again.\n' +
        'If its terminal was closed, SIGHUP stops it.\n' +
        'See docs/deploy.md for systemd, Docker and Kubernetes, docs/http.md for the\n' +
        'endpoints, docs/logging.md for the log.',
    )
    .action(() => run(runStart));
}

async function runStart(io: Io): Promise<number> {
  const { createMetrics } = await import('../../daemon/http/metrics.ts');
  const { runDaemon } = await import('../../daemon/run.ts');
  const { systemClock } = await import('../../session/clock.ts');
  const { withSession } = await import('../../session/session.ts');
  const { printLoad } = await import('../output/load.ts');
  const metrics = createMetrics({ version: io.version, clock: systemClock() });
  const work = async (session: Session): Promise<number> => {
    const { config, clock } = session;
    const onLoad = (load: Load): void => printLoad(io.stdout, load, config, clock.now());
    const onListening = (address: string): void => {
      if (io.stdout.isTTY === true)
        printLine(io.stdout, `${paint(io.stdout, 'bold', `Open ${address} in a browser.`)}\n`);
    };
    return await runDaemon(io, session, { metrics, onLoad, onListening });
  };
  return await withSession(io, work, { onEnded: metrics.requestEnded, unattended: true, endpoints: true });
}
