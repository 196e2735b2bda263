import { stringify } from 'csv-stringify/sync';
import { parseExact } from '../../core/json.ts';
import type { Cell } from '../../query/result.ts';

/** A cell in words of SQL. */
export function asText(cell: Cell): string {
  return cell === null
    ? 'NULL'
    : cell instanceof Uint8Array
      ? `x'${Buffer.from(cell).toString('hex')}'`
      : String(cell);
}

/** A JSON column as JSON with its every digit; what JSON has no form for, as text. */
export function asJson(cell: Cell, isJson: boolean): unknown {
  if (isJson && typeof cell === 'string') return parseExact(cell);
  const hasForm =
    typeof cell === 'number'
      ? Number.isFinite(cell)
      : typeof cell !== 'bigint' && !(cell instanceof Uint8Array);
  return hasForm ? cell : asText(cell);
}

/** Rows as CSV. NULL is an empty cell, an empty text is `""`: programs that tell them apart read them so. */
export function asCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return stringify([...rows], { quoted_match: /^$/ });
}
