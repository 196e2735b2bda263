import { asText, objectWriter } from '../../query/cells.ts';
import { AT_ONCE, type Cell, charactersOf, type QueryResult } from '../../query/result.ts';
import type { Streams } from '../../session/terminal.ts';
import type { Format } from '../options.ts';
import { asCsv, type CsvForm } from './cells.ts';
import { writePaced } from './paced.ts';
import { printTable } from './result-table.ts';

/** Characters are gathered up to about this many for each write: a write is slow. */
const WRITTEN_AT_ONCE = 64 * 1024;

/**
 * Prints rows in a format, at most `limit`. A table is held in memory whole. Other formats are printed while
 * rows are read, at the pace of the reader, so memory does not grow with their number.
 * @throws the signal's reason
 */
export async function printRows(
  streams: Streams,
  result: QueryResult,
  { format, raw = false, limit }: { format: Format; raw?: boolean; limit?: number | undefined },
  signal: AbortSignal,
): Promise<void> {
  if (format === 'table') {
    await printTable(streams, result, limit);
    return;
  }
  const { head, textOf, tail } = FORMS[format](result.columns, {
    raw,
    onTerminal: streams.stdout.isTTY === true,
  });
  let text = head;
  const write = async (): Promise<void> => {
    const gathered = text;
    text = '';
    if (gathered !== '') await writePaced(streams.stdout, gathered, signal);
    signal.throwIfAborted();
  };
  let rows: Cell[][] = [];
  let characters = 0;
  let printed = 0;
  for await (const row of limit === undefined ? result.rows : firstOf(result.rows, limit)) {
    rows.push(row);
    characters += charactersOf(row);
    if (rows.length < AT_ONCE.rows && characters < AT_ONCE.characters) continue;
    text += textOf(rows, printed);
    printed += rows.length;
    rows = [];
    characters = 0;
    if (text.length >= WRITTEN_AT_ONCE) await write();
  }
  text += textOf(rows, printed) + tail(printed + rows.length);
  await write();
}

/** At most `limit` rows, of which there is at least one. */
async function* firstOf(rows: QueryResult['rows'], limit: number): AsyncGenerator<Cell[]> {
  let count = 0;
  for await (const row of rows) {
    yield row;
    if (++count === limit) return;
  }
}

interface Form {
  readonly head: string;
  /** The text of some rows; `before` rows were printed before them. */
  readonly textOf: (rows: readonly Cell[][], before: number) => string;
  readonly tail: (rows: number) => string;
}

const FORMS: Readonly<
  Record<Exclude<Format, 'table'>, (columns: QueryResult['columns'], form: CsvForm) => Form>
> = {
  csv: (columns, form) => ({
    head: asCsv([columns.map(({ name }) => name)], form),
    textOf: (rows) =>
      asCsv(
        rows.map((row) => row.map((cell) => (cell === null ? null : asText(cell)))),
        form,
      ),
    tail: () => '',
  }),
  ndjson(columns) {
    const asObject = objectWriter(columns);
    return { head: '', textOf: (rows) => rows.map((row) => `${asObject(row)}\n`).join(''), tail: () => '' };
  },
  json(columns) {
    const asObject = objectWriter(columns);
    return {
      head: '',
      textOf: (rows, before) =>
        rows.map((row, index) => `${before + index === 0 ? '[\n  ' : ',\n  '}${asObject(row)}`).join(''),
      tail: (rows) => (rows === 0 ? '[]\n' : '\n]\n'),
    };
  },
};
