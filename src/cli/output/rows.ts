import { MirrorError } from '../../core/errors.ts';
import { AT_ONCE, type Cell, charactersOf, type QueryResult } from '../../query/result.ts';
import { type Format, type Io, writePaced } from '../../session/terminal.ts';
import { asCsv, asJson, asText } from './cells.ts';
import { printTable } from './result-table.ts';

/** So many characters go out at a time: each write costs. */
const WRITTEN_AT_ONCE = 64 * 1024;

/**
 * Prints rows in a format. All but the table go out as they come, no faster than they are taken, so that memory does not grow with them.
 * @throws the signal's reason
 */
export async function printRows(
  io: Io,
  result: QueryResult,
  format: Format,
  signal: AbortSignal = io.signal,
): Promise<void> {
  if (format === 'table') {
    await printTable(io, result);
    return;
  }
  const { head, textOf, tail } = FORMS[format](result.columns);
  let text = head;
  const write = async (): Promise<void> => {
    const gathered = text;
    text = '';
    if (gathered !== '') await writePaced(io.stdout, gathered, signal);
    signal.throwIfAborted();
  };
  let rows: Cell[][] = [];
  let characters = 0;
  let printed = 0;
  for await (const row of result.rows) {
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

interface Form {
  readonly head: string;
  /** Some rows, and how many have been printed before them. */
  readonly textOf: (rows: readonly Cell[][], before: number) => string;
  readonly tail: (rows: number) => string;
}

const FORMS: Readonly<Record<Exclude<Format, 'table'>, (columns: QueryResult['columns']) => Form>> = {
  csv: (columns) => ({
    head: asCsv([columns.map(({ name }) => name)]),
    textOf: (rows) => asCsv(rows.map((row) => row.map((cell) => (cell === null ? null : asText(cell))))),
    tail: () => '',
  }),
  ndjson(columns) {
    const asObject = objectsOf(columns);
    return { head: '', textOf: (rows) => rows.map((row) => `${asObject(row)}\n`).join(''), tail: () => '' };
  },
  json(columns) {
    const asObject = objectsOf(columns);
    return {
      head: '',
      textOf: (rows, before) =>
        rows.map((row, index) => `${before + index === 0 ? '[\n  ' : ',\n  '}${asObject(row)}`).join(''),
      tail: (rows) => (rows === 0 ? '[]\n' : '\n]\n'),
    };
  },
};

/** @throws MirrorError `USAGE`: a JSON object holds a name once, the other column would be lost without a word */
function objectsOf(columns: QueryResult['columns']): (row: Cell[]) => string {
  const names = columns.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new MirrorError(
      'USAGE',
      `Two columns are named ${JSON.stringify(twice)}, and a JSON object can hold only one. Name them apart with AS.`,
    );
  }
  // Put together as text: an object would put columns that are named by a number (a year) before the others.
  const keys = names.map((name) => `${JSON.stringify(name)}:`);
  return (row) =>
    `{${columns.map(({ isJson }, index) => keys[index] + JSON.stringify(asJson(row[index] ?? null, isJson))).join(',')}}`;
}
