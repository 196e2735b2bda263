import type { Command } from 'commander';
import type { Runner } from '../../session/terminal.ts';

export function addLookup(program: Command, run: Runner): void {
  const lookup = program
    .command('lookup')
    .summary("the service's own searches: a user by e-mail, a tag by name")
    .description('Asks the service itself; one request each. The mirror is not changed.');
  lookup
    .command('user')
    .description('Finds the user of an inbox with exactly this e-mail address.')
    .requiredOption('--inbox <id>', 'the inbox')
    .requiredOption('--email <address>', 'the whole address')
    .option('--json', 'print as JSON')
    .action((options: { inbox: string; email: string; json?: boolean }) =>
      run(async (io) => {
        const { lookUp } = await import('../commands/lookup.ts');
        return await lookUp(io, {
          list: 'users',
          inboxId: options.inbox,
          by: options.email,
          json: options.json ?? false,
        });
      }),
    );
  lookup
    .command('tag')
    .description(
      'Finds the tags of an inbox by name. Whether a part of the name will do is up to the service.',
    )
    .requiredOption('--inbox <id>', 'the inbox')
    .requiredOption('--name <name>', 'the name to search for')
    .option('--json', 'print as JSON')
    .action((options: { inbox: string; name: string; json?: boolean }) =>
      run(async (io) => {
        const { lookUp } = await import('../commands/lookup.ts');
        return await lookUp(io, {
          list: 'tags',
          inboxId: options.inbox,
          by: options.name,
          json: options.json ?? false,
        });
      }),
    );
}
