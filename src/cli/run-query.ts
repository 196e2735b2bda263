import { text } from 'node:stream/consumers';
import { stringify } from 'csv-stringify/sync';
import { readConfig, readEnvironment } from '../config.ts';
import { MirrorError } from '../core/errors.ts';
import { parseExact } from '../core/json.ts';
import { plural } from '../core/words.ts';
import type { Cell, QueryResult } from '../store/query-result.ts';
import { openReadOnly } from '../store/read-only.ts';
import { EXIT } from './exit-codes.ts';
import type { Format } from './formats.ts';
import { type Io, printLine } from './io.ts';
import { renderTable } from './table.ts';

/** What anybody can read, and what the table's layout can bear. */
const MOST_TABLE_ROWS = 10_000;

/** Runs one query and prints its rows. @returns the exit code */
export async function runQuery(io: Io, argument: string, format: Format): Promise<number> {
  const config = readConfig(readEnvironment(io.env, io.cwd), io.cwd, { service: false });
  const sql = argument === '-' ? await text(process.stdin) : argument;
  const mirror = await openReadOnly(config.databaseUrl);
  try {
    await printRows(io, await mirror.query(sql), format);
    return EXIT.done;
  } finally {
    await mirror.close();
  }
}

/** Prints rows in a format; all but the table go out one at a time. */
export async function printRows(io: Io, { columns, rows }: QueryResult, format: Format): Promise<void> {
  const names = columns.map(({ name }) => name);
  if (format === 'table') {
    const all = await firstOf(rows, MOST_TABLE_ROWS);
    const numeric = names.map(
      (_name, index) =>
        all.rows.some((row) => row[index] !== null) &&
        all.rows.every((row) => row[index] === null || typeof row[index] === 'number'),
    );
    const titles = names.map((title, index) => ({
      title,
      align: numeric[index] === true ? ('right' as const) : ('left' as const),
    }));
    printLine(
      io.stdout,
      renderTable(
        io.stdout,
        titles,
        all.rows.map((row) => row.map(asText)),
      ),
    );
    printLine(io.stdout, `(${all.complete ? '' : 'the first '}${plural(all.rows.length, 'row')})`);
    if (!all.complete)
      printLine(io.stderr, 'warning: there are more rows than a table shows; --format csv or ndjson prints them all.');
    return;
  }
  if (format === 'csv') {
    io.stdout.write(stringify([names]));
    for await (const row of rows) io.stdout.write(stringify([row.map((cell) => (cell === null ? '' : asText(cell)))]));
    return;
  }
  refuseSameNames(names);
  const asObject = (row: Cell[]): string =>
    JSON.stringify(Object.fromEntries(columns.map(({ name, isJson }, index) => [name, asJson(row[index] ?? null, isJson)])));
  if (format === 'ndjson') {
    for await (const row of rows) printLine(io.stdout, asObject(row));
    return;
  }
  let separator = '[\n  ';
  for await (const row of rows) {
    io.stdout.write(separator + asObject(row));
    separator = ',\n  ';
  }
  io.stdout.write(separator.startsWith('[') ? '[]\n' : '\n]\n');
}

/** Of the rows at most `most`, and whether that was all. */
async function firstOf(rows: QueryResult['rows'], most: number): Promise<{ rows: Cell[][]; complete: boolean }> {
  const first: Cell[][] = [];
  for await (const row of rows) {
    if (first.length === most) return { rows: first, complete: false };
    first.push(row);
  }
  return { rows: first, complete: true };
}

/** A JSON object holds a name once: the other column would be lost without a word. */
function refuseSameNames(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new MirrorError(
      'USAGE',
      `Two columns are named ${JSON.stringify(twice)}, and a JSON object can hold only one. Name them apart with AS.`,
    );
  }
}

function asText(cell: Cell): string {
  return cell === null ? 'NULL' : cell instanceof Uint8Array ? `x'${Buffer.from(cell).toString('hex')}'` : String(cell);
}

/** A JSON column as JSON with its every digit; what JSON has no form for, as text. */
function asJson(cell: Cell, isJson: boolean): unknown {
  if (isJson && typeof cell === 'string') return parseExact(cell);
  return typeof cell === 'bigint' || cell instanceof Uint8Array ? asText(cell) : cell;
}
