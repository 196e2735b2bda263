import stringWidth from 'string-width';

/** Between two columns. */
const GAP = 2;
/** What a column may be cut to: less tells nothing. */
const LEAST = 12;

/**
 * How wide each column may be on a terminal of so many cells: the widest are cut first, numbers never.
 * @returns null where even so the columns do not fit beside each other
 */
export function fitColumns(
  columns: readonly { readonly cells: number; readonly isNumeric: boolean }[],
  width: number,
): number[] | null {
  const room = width - GAP * (columns.length - 1);
  const cutAt = (most: number): number[] =>
    columns.map(({ cells, isNumeric }) => (isNumeric ? cells : Math.min(cells, most)));
  for (let most = Math.max(LEAST, room); most >= LEAST; most--) {
    const widths = cutAt(most);
    if (widths.reduce((sum, cells) => sum + cells, 0) <= room) return widths;
  }
  return null;
}

/** How wide each column would have to be to show all of it. */
export function neededCells(titles: readonly string[], rows: readonly (readonly string[])[]): number[] {
  return titles.map((title, index) =>
    rows.reduce((most, row) => Math.max(most, stringWidth(row[index] ?? '')), stringWidth(title)),
  );
}
