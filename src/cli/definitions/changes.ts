import { type Command, Option } from 'commander';
import { LIST_NAMES } from '../../core/lists.ts';
import { FORMATS, type Runner } from '../../session/terminal.ts';
import type { ChangesOptions } from '../commands/changes.ts';

export function addChanges(program: Command, run: Runner): void {
  program
    .command('changes')
    .summary('what changed and when, also as it happens')
    .description(
      'The change feed that the service does not have: every difference between two sightings, oldest first. ' +
        'Without --since, --since-id or --limit a table shows the newest 100.',
    )
    .option('--follow', 'go on with new ones as they are found; alone, with new ones only')
    .option('--since <time>', 'observed since then: 2026-11-21, 2026-11-21T08:00:00Z, or ago: 30m, 2h, 7d')
    .option(
      '--since-id <id>',
      'after the change with this id: stop, keep the last id, go on later without loss or repeat',
    )
    .addOption(new Option('--list <list>', 'only of this kind of list').choices(LIST_NAMES))
    .option('--inbox <id>', 'only of this inbox')
    .option('--item <id>', 'only of this conversation, tag, user or inbox')
    .option('--field <name>', 'only of this field: status, assignee_id, tags, presence …')
    .option('--limit <n>', 'at most so many')
    .addOption(new Option('--format <format>', 'how changes are printed').choices(FORMATS).default('table'))
    .addHelpText(
      'after',
      '\nExamples:\n  inbox-mirror changes --list conversations --field status --since 2h\n  inbox-mirror changes --follow --since-id 4711 --format ndjson | my-consumer',
    )
    .action((options: ChangesOptions) =>
      run(async (io) => {
        const { runChanges } = await import('../commands/changes.ts');
        return await runChanges(io, options);
      }),
    );
}
