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

interface ResyncOptions {
  readonly inbox?: string;
  readonly dryRun?: boolean;
  readonly acceptDeletes?: boolean;
  readonly acceptAccount?: boolean;
  readonly detach?: boolean;
  readonly json?: boolean;
}

export function addResync(program: Command, run: Runner): void {
  program
    .command('resync')
    .summary('read all lists again from their first page')
    .description(
      'Prints its cost, then reads the lists from their first page, even if sweeps of them are unfinished. ' +
        'If a daemon is running, the daemon does the work and this command follows it.',
    )
    .addArgument(listsArgument())
    .addOption(inboxOption())
    .option('--dry-run', 'only print the cost: requests, share of the day budget, expected end')
    .option(
      '--accept-deletes',
      'delete the rows that are missing now, if the service still does not list them',
    )
    .addOption(acceptAccountOption())
    .addOption(detachOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExamples:\n  inbox-mirror resync --dry-run\n  inbox-mirror resync conversations --accept-deletes',
    )
    .action((lists: string[], options: ResyncOptions) =>
      run(async (io) => {
        const { withSession } = await import('../../session/session.ts');
        const { runPassCommand } = await import('../pass/run.ts');
        const { inbox, dryRun = false, detach = false, json = false } = options;
        const { acceptDeletes = false, acceptAccount = false } = options;
        const spec = {
          kind: 'resync',
          lists: parseLists(lists),
          inboxId: inbox ?? null,
          acceptDeletes,
          acceptAccount,
          requestedBy: ['inbox-mirror resync', ...lists].join(' '),
        } as const;
        // With --json, stdout gets one document: the forecast of a dry run, or the outcome.
        const forecast = dryRun ? 'only' : json ? undefined : 'first';
        const command = { spec, json, detach, forecast } as const;
        return await withSession(io, (session) => runPassCommand(io, session, command), {
          waitsForBudget: true,
        });
      }),
    );
}
