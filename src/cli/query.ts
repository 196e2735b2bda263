import { type Command, Option } from 'commander';
import type { Runner } from './io.ts';
import { FORMATS, type Format } from './formats.ts';

export function addQuery(program: Command, run: Runner): void {
  program
    .command('query')
    .summary('ask the mirror in SQL, read-only')
    .description('Runs one SQL query on the mirror over a connection that cannot write, and prints its rows.')
    .argument('<sql>', 'the query, in quotes; - reads it from stdin')
    .addOption(new Option('--format <format>', 'how rows are printed').choices(FORMATS).default('table'))
    .addHelpText(
      'after',
      '\nExample:\n  inbox-mirror query "SELECT status, count(*) FROM conversations WHERE deleted_at IS NULL GROUP BY status"',
    )
    .action((sql: string, options: { format: Format }) =>
      run(async (io) => {
        const { runQuery } = await import('./run-query.ts');
        return await runQuery(io, sql, options.format);
      }),
    );
}
