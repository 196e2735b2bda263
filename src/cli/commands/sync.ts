import type { Command } from 'commander';
import { parseLists } from '../arguments.ts';
import {
  acceptAccountOption,
  detachOption,
  inboxOption,
  jsonOption,
  listsArgument,
  type Runner,
} from '../options.ts';

interface SyncOptions {
  readonly inbox?: string;
  readonly acceptAccount?: boolean;
  readonly detach?: boolean;
  readonly json?: boolean;
}

export function addSync(program: Command, run: Runner): void {
  program
    .command('sync')
    .summary('read all lists once, or only the named ones')
    .description(
      'Reads the lists once, writes new and different rows, and records the changes. ' +
        'An interrupted pass resumes where it stopped. ' +
        'If a daemon is running, the daemon does the work and this command follows it.',
    )
    .addArgument(listsArgument())
    .addOption(inboxOption())
    .addOption(acceptAccountOption())
    .addOption(detachOption())
    .addOption(jsonOption())
    .addHelpText('after', '\nExamples:\n  inbox-mirror sync\n  inbox-mirror sync conversations --inbox 20117')
    .action((lists: string[], { inbox, acceptAccount = false, detach = false, json = false }: SyncOptions) =>
      run(async (io) => {
        const { withSession } = await import('../../session/session.ts');
        const { runPassCommand } = await import('../pass/run.ts');
        const spec = {
          kind: 'sync',
          lists: parseLists(lists),
          inboxId: inbox ?? null,
          acceptDeletes: false,
          acceptAccount,
          requestedBy: ['inbox-mirror sync', ...lists].join(' '),
        } as const;
        return await withSession(io, (session) => runPassCommand(io, session, { spec, json, detach }), {
          waitsForBudget: true,
        });
      }),
    );
}
