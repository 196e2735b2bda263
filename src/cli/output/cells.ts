import { csvOf, withoutFormula } from '../../query/cells.ts';
import { asCell } from '../../session/terminal.ts';

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
    const safe = raw ? cell : withoutFormula(cell);
    return onTerminal ? asCell(safe) : safe;
  };
  return csvOf(rows.map((row) => row.map(written)));
}
