import { stringify } from 'csv-stringify/sync';
import { MirrorError } from '../core/errors.ts';
import { escapeHidden, parseExact } from '../core/json.ts';
import type { Cell, QueryResult } from './result.ts';

/** A cell as SQL writes it: `NULL`, `x'0a'` for bytes, else its plain text. */
export function asText(cell: Cell): string {
  return cell === null
    ? 'NULL'
    : cell instanceof Uint8Array
      ? `x'${Buffer.from(cell).toString('hex')}'`
      : String(cell);
}

/** A cell as a JSON value. JSON columns keep every digit; a value that JSON cannot hold becomes text. */
export function asJson(cell: Cell, isJson: boolean): unknown {
  if (isJson && typeof cell === 'string') return parseExact(cell);
  const fitsJson =
    typeof cell === 'number'
      ? Number.isFinite(cell)
      : typeof cell !== 'bigint' && !(cell instanceof Uint8Array);
  return fitsJson ? cell : asText(cell);
}

/**
 * The names of columns for a `form`, such as `a JSON object`, that can hold each name only once.
 * @throws MirrorError `USAGE` if two columns have one name
 */
export function uniqueNames(columns: QueryResult['columns'], form: string): string[] {
  const names = columns.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return names;
  throw new MirrorError(
    'USAGE',
    `Two columns are named ${JSON.stringify(twice)}, and ${form} can hold only one. ` +
      'Rename one of them with AS.',
  );
}

/**
 * Writes a row as a JSON object, in the order of its columns.
 * @throws MirrorError `USAGE` if two columns have one name
 */
export function objectWriter(columns: QueryResult['columns']): (row: readonly Cell[]) => string {
  // Written as text: an object would move columns with a number as name (a year) before the others.
  const keys = uniqueNames(columns, 'a JSON object').map((name) => `${JSON.stringify(name)}:`);
  return (row) => {
    const fields = columns.map(
      ({ isJson }, index) => keys[index] + JSON.stringify(asJson(row[index] ?? null, isJson)),
    );
    return escapeHidden(`{${fields.join(',')}}`);
  };
}

/** A cell that a spreadsheet runs as a formula, and a number, which it does not. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^-\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/**
 * Cells of CSV in quotes, besides those that RFC 4180 requires. Some spreadsheets also separate cells at a
 * semicolon or a tab. Empty text is distinguished from NULL.
 */
const QUOTED_IN_CSV = /^$|[;\t]/;

/** A text of CSV. An apostrophe precedes one that a spreadsheet would run. */
export function withoutFormula(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/** Rows as CSV. NULL is an empty cell and empty text is `""`; some programs distinguish the two. */
export function csvOf(rows: readonly (readonly (string | number | null)[])[]): string {
  return stringify([...rows], { quoted_match: QUOTED_IN_CSV });
}
