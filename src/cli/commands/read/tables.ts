import type { Command } from 'commander';
import { EXIT } from '../../../core/errors.ts';
import type { TableDescription } from '../../../query/tables.ts';
import { asCell, type Io, paint, printJson, printLine, wrapped } from '../../../session/terminal.ts';
import { jsonOption, type Runner } from '../../options.ts';

export function addTables(program: Command, run: Runner): void {
  program
    .command('tables')
    .summary('print the views and tables, or the columns of one')
    .description(
      'Prints the views and tables of the mirror, each with its meaning; with a name, the columns of one. ' +
        'Tables and views of your own have no description. See also docs/tables.md and docs/sql.md.',
    )
    .argument('[name]', 'a table or a view: print its columns with their types and meanings')
    .addOption(jsonOption())
    .addHelpText('after', '\nExamples:\n  inbox-mirror tables\n  inbox-mirror tables conversations')
    .action((name: string | undefined, { json = false }: { json?: boolean }) =>
      run((io) => printTables(io, name, json)),
    );
}

async function printTables(io: Io, name: string | undefined, json: boolean): Promise<number> {
  const { describe } = await import('../../../query/tables.ts');
  const { mirrorAddress } = await import('../../../session/reader.ts');
  const described = await describe(mirrorAddress(io));
  const shown = name === undefined ? described : [await tableOf(described, name)];
  const [only] = shown;
  if (json) printJson(io.stdout, JSON.stringify(shown, null, 2));
  else if (name !== undefined && only !== undefined) printLine(io.stdout, await columnsOf(io, only));
  else printLine(io.stdout, await overviewOf(io, described));
  return EXIT.done;
}

/** @throws MirrorError `USAGE` for a name that the mirror does not have */
async function tableOf(described: readonly TableDescription[], name: string): Promise<TableDescription> {
  // A table of one's own may have capital letters.
  const found =
    described.find((one) => one.name === name) ?? described.find((one) => one.name === name.toLowerCase());
  if (found !== undefined) return found;
  const { unknownRelation } = await import('../../../query/reads/relation.ts');
  throw unknownRelation(
    name,
    described.map((one) => one.name),
  );
}

/** The views, which answer questions, then the tables: a line for each. */
async function overviewOf(io: Io, described: readonly TableDescription[]): Promise<string> {
  const { renderTable } = await import('../../output/table.ts');
  const sorted = [
    ...described.filter(({ kind }) => kind === 'view'),
    ...described.filter(({ kind }) => kind === 'table'),
  ];
  const columns = [{ title: 'name' }, { title: 'kind' }, { title: 'meaning' }];
  const rows = sorted.map(({ name, kind, description }) => [asCell(name), kind, description]);
  const more = '`inbox-mirror tables NAME` prints the columns of one, with their types and meanings.';
  return `${renderTable(io.stdout, columns, rows)}\n\n${wrapped(io.stdout, more)}`;
}

async function columnsOf(
  io: Io,
  { name, kind, description, columns, types, meanings, key }: TableDescription,
): Promise<string> {
  const { renderTable } = await import('../../output/table.ts');
  const title = `${paint(io.stdout, 'bold', asCell(name))} (${kind})  ${description}`.trimEnd();
  // The meaning is the last column: a narrow terminal cuts it first.
  const titles = [{ title: 'column' }, { title: 'type' }, { title: 'meaning' }];
  const rows = columns.map((column, index) => [
    asCell(column),
    asCell(types[index] ?? ''),
    meanings[index] ?? '',
  ]);
  const keys = key.length === 0 ? '' : `\n\nkey: ${key.join(', ')}`;
  return `${wrapped(io.stdout, title)}\n\n${renderTable(io.stdout, titles, rows)}${keys}`;
}
