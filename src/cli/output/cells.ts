import { stringify } from 'csv-stringify/sync';
import { parseExact } from '../../core/json.ts';
import type { Cell } from '../../query/result.ts';

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
const FORMULA = /^[=+\-@\t\r＝＋－＠]/;
const NUMBER = /^-\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/**
 * Rows as CSV. NULL is an empty cell and empty text is `""`; some programs distinguish the two.
 * @param raw without it, an apostrophe precedes each text that a spreadsheet would run
 */
export function asCsv(rows: readonly (readonly (string | number | null)[])[], raw: boolean): string {
  const safe = (cell: string | number | null): string | number | null =>
    typeof cell === 'string' && FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
  return stringify(raw ? [...rows] : rows.map((row) => row.map(safe)), { quoted_match: /^$/ });
}
