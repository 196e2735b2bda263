import type { Command } from 'commander';
import type { Runner } from '../../session/terminal.ts';
import { parseLists } from '../arguments.ts';

export function addSync(program: Command, run: Runner): void {
  program
    .command('sync')
    .summary('bring the mirror up to date now')
    .description(
      'Reads the lists once, writes what is new or different, and notes what changed. A pass that was interrupted goes on where it stopped. Where the daemon is running, it does the work and this command follows it.',
    )
    .argument('[lists...]', 'inboxes, users, tags, conversations; all of them where none is named')
    .option('--inbox <id>', 'only the lists of this inbox')
    .option('--detach', 'only hand it to the daemon, and do not follow its progress')
    .option('--json', 'print the outcome as JSON')
    .addHelpText('after', '\nExamples:\n  inbox-mirror sync\n  inbox-mirror sync conversations --inbox 20117')
    .action((lists: string[], options: { inbox?: string; detach?: boolean; json?: boolean }) =>
      run(async (io) => {
        const { withSession } = await import('../../session/session.ts');
        const { runPassCommand } = await import('../pass/run.ts');
        const spec = {
          kind: 'sync',
          lists: parseLists(lists),
          inboxId: options.inbox ?? null,
          acceptDeletes: false,
          requestedBy: ['inbox-mirror sync', ...lists].join(' '),
        } as const;
        const command = { spec, json: options.json ?? false, detach: options.detach ?? false };
        return await withSession(io, (session) => runPassCommand(io, session, command));
      }),
    );
}
