import { type Command, Option } from 'commander';
import { FORMATS, type Runner } from '../../session/terminal.ts';
import type { QueryOptions } from '../commands/query.ts';

export function addQuery(program: Command, run: Runner): void {
  program
    .command('query')
    .summary('ask the mirror in SQL, read-only')
    .description(
      'Runs one SQL query on the mirror over a connection that cannot write, and prints its rows. `inbox-mirror tables` lists what there is to ask.',
    )
    .argument('<sql>', 'the query, in quotes; - reads it from stdin')
    .addOption(new Option('--format <format>', 'how rows are printed').choices(FORMATS).default('table'))
    .option(
      '--timeout <time>',
      'stop a query that takes longer, printing included, with exit code 1: 30, 30s, 2m, 1h (default: none)',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  inbox-mirror query "SELECT status, count(*) FROM conversations WHERE deleted_at IS NULL GROUP BY status"' +
        '\n  inbox-mirror query - --format csv --timeout 2m < report.sql > report.csv',
    )
    .action((sql: string, options: QueryOptions) =>
      run(async (io) => {
        const { runQuery } = await import('../commands/query.ts');
        return await runQuery(io, sql, options);
      }),
    );
}
