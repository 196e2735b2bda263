import type { Command } from 'commander';
import type { Runner } from '../../session/terminal.ts';

export function addTables(program: Command, run: Runner): void {
  program
    .command('tables')
    .summary('the tables and views there are to ask')
    .description(
      'Lists tables and views with their columns and a sentence each. docs/tables.md and docs/sql.md tell more.',
    )
    .option('--json', 'print as JSON (docs/commands.md)')
    .action((options: { json?: boolean }) =>
      run(async (io) => {
        const { listTables } = await import('../commands/tables.ts');
        return await listTables(io, { json: options.json ?? false });
      }),
    );
}
