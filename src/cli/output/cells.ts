import { stringify } from 'csv-stringify/sync';
import { parseExact } from '../../core/json.ts';
import type { Cell } from '../../query/result.ts';
import { asCell } from '../../session/terminal.ts';

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

/** A cell that a spreadsheet runs as a formula, and a number, which it does not. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^-\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/**
 * Cells in quotes, besides those that RFC 4180 requires. Some spreadsheets also separate cells at a semicolon
 * or a tab. Empty text is distinguished from NULL.
 */
const QUOTED = /^$|[;\t]/;

export interface CsvForm {
  /** False: an apostrophe precedes each text that a spreadsheet would run. */
  readonly raw: boolean;
  /** A mark replaces each control character. A file or a pipe keeps them: programs read them. */
  readonly onTerminal: boolean;
}

/** Rows as CSV. NULL is an empty cell and empty text is `""`; some programs distinguish the two. */
export function asCsv(
  rows: readonly (readonly (string | number | null)[])[],
  { raw, onTerminal }: CsvForm,
): string {
  const written = (cell: string | number | null): string | number | null => {
    if (typeof cell !== 'string') return cell;
    const safe = !raw && FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
    return onTerminal ? asCell(safe) : safe;
  };
  return stringify(
    rows.map((row) => row.map(written)),
    { quoted_match: QUOTED },
  );
}
