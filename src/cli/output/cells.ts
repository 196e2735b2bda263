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

/** Rows as CSV. NULL is an empty cell and empty text is `""`; some programs distinguish the two. */
export function asCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return stringify([...rows], { quoted_match: /^$/ });
}
