import type { Command } from 'commander';
import type { Runner } from '../../session/terminal.ts';
import { parseLists } from '../arguments.ts';

interface ResyncOptions {
  readonly inbox?: string;
  readonly dryRun?: boolean;
  readonly acceptDeletes?: boolean;
  readonly detach?: boolean;
  readonly json?: boolean;
}

export function addResync(program: Command, run: Runner): void {
  program
    .command('resync')
    .summary('read every list again from its first page')
    .description(
      'A one-off full resync: reads every list from its first page, whatever sweep was under way. Says first what it will cost. Where the daemon is running, it does the work and this command follows it.',
    )
    .argument('[lists...]', 'inboxes, users, tags, conversations; all of them where none is named')
    .option('--inbox <id>', 'only the lists of this inbox')
    .option('--dry-run', 'only say what it would cost: requests, share of the day budget, when it would end')
    .option('--accept-deletes', 'mark what is not listed as deleted at once, without a second witness')
    .option('--detach', 'only hand it to the daemon, and do not follow its progress')
    .option('--json', 'print forecast or outcome as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  inbox-mirror resync --dry-run\n  inbox-mirror resync conversations --accept-deletes',
    )
    .action((lists: string[], options: ResyncOptions) =>
      run(async (io) => {
        const { withSession } = await import('../../session/session.ts');
        const { runPassCommand } = await import('../pass/run.ts');
        const spec = {
          kind: 'resync',
          lists: parseLists(lists),
          inboxId: options.inbox ?? null,
          acceptDeletes: options.acceptDeletes ?? false,
          requestedBy: ['inbox-mirror resync', ...lists].join(' '),
        } as const;
        const json = options.json ?? false;
        // With --json the command prints one document: the forecast of a dry run, or the outcome.
        const forecast = options.dryRun ? 'only' : json ? undefined : 'first';
        const command = { spec, json, detach: options.detach ?? false, forecast } as const;
        return await withSession(io, (session) => runPassCommand(io, session, command));
      }),
    );
}
