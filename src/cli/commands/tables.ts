import type { Command } from 'commander';
import { EXIT } from '../../core/errors.ts';
import type { TableDescription } from '../../query/tables.ts';
import { type Io, paint, printJson, printLine, wrapped } from '../../session/terminal.ts';
import { jsonOption, type Runner } from '../options.ts';

export function addTables(program: Command, run: Runner): void {
  program
    .command('tables')
    .summary('print the tables and views with their columns')
    .description(
      'Prints the tables and views of the mirror, each with a description and its columns. ' +
        'Tables and views of your own have no description. See also docs/tables.md and docs/sql.md.',
    )
    .addOption(jsonOption())
    .action(({ json = false }: { json?: boolean }) => run((io) => printTables(io, json)));
}

async function printTables(io: Io, json: boolean): Promise<number> {
  const { describe } = await import('../../query/tables.ts');
  const { readerConfig } = await import('../../session/reader.ts');
  const described = await describe(readerConfig(io).databaseUrl);
  if (json) printJson(io.stdout, JSON.stringify(described, null, 2));
  else for (const one of described) printLine(io.stdout, asText(io, one));
  return EXIT.done;
}

function asText(io: Io, { name, kind, description, columns }: TableDescription): string {
  const title = `${paint(io.stdout, 'bold', name)}${kind === 'view' ? ' (view)' : ''}`;
  return (
    `${wrapped(io.stdout, `${title}  ${description}`)}\n` +
    `${wrapped(io.stdout, `    ${columns.join(', ')}`, 4)}\n`
  );
}
