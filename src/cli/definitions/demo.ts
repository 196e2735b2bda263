import type { Command } from 'commander';
import type { Runner } from '../../session/terminal.ts';

export function addDemo(program: Command, run: Runner): void {
  program
    .command('demo')
    .summary('see it work: sandbox, mirror and queries, no account needed')
    .description(
      'Mirrors the sandbox into demo.db, asks it three questions, lets the data change, syncs again and shows what changed.',
    )
    .option('--database <file>', 'the file to write; an earlier demo there is replaced', 'demo.db')
    .action((options: { database: string }) =>
      run(async (io) => {
        const { runDemo } = await import('../commands/demo.ts');
        return await runDemo(io, options.database);
      }),
    );
}
