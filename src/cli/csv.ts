import { stringify } from 'csv-stringify/sync';

/** Rows as CSV. NULL is an empty cell, an empty text is `""`: programs that tell them apart read them so. */
export function asCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return stringify([...rows], { quoted_match: /^$/ });
}
