import type { Command } from 'commander';
import type { Runner } from '../../session/terminal.ts';

export function addStart(program: Command, run: Runner): void {
  program
    .command('start')
    .summary('keep the mirror fresh: the daemon, in the foreground')
    .description(
      'Reads the lists by their schedules, within the budget, until it is stopped; for a service manager. Takes orders from `sync` and `resync`, and answers under HTTP_HOST and HTTP_PORT. ' +
        'Says first what it will do. A second one on the same mirror stands by, and takes over when the first one dies.',
    )
    .addHelpText(
      'after',
      '\nSignals: SIGTERM and SIGINT stop it after the page in hand, a second one at once; SIGHUP reads INBOX_API_KEY_FILE again.\nSee docs/deploy.md for systemd, Docker and Kubernetes, docs/http.md for the endpoints, docs/logging.md for the log.',
    )
    .action(() =>
      run(async (io) => {
        const { runStart } = await import('../commands/start.ts');
        return await runStart(io, program.version() ?? '');
      }),
    );
}
