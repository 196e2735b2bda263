import { cellsOf, cutToCells, wrapToCells } from '../../core/humanize.ts';
import { type Output, paint } from '../../session/terminal.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** The least width, in columns of a terminal. */
  readonly width?: number;
}

/** Columns between two cells. */
export const GAP = 2;

/** The last column is wrapped to no fewer columns than this; with less room its text goes below the row. */
const LEAST_ROOM = 20;

/** No column of a table becomes narrower than this many cells of the terminal. */
export const LEAST_WIDTH = 12;

/** The indentation of a text below its row. */
const BELOW = '    ';

/**
 * Aligned columns under their titles. Foreign text passes `asCell` first. A line break in a cell is shown as
 * ⏎. On a terminal that is too narrow, the texts of a last column at the left are wrapped between words.
 */
export function renderTable(
  output: Output,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string {
  const text = aligned(output, columns, rows).join('\n');
  const width = output.isTTY === true ? (output.columns ?? 0) : 0;
  const isLeft = (columns.at(-1)?.align ?? 'left') === 'left';
  const isWide = text.split('\n').some((line) => cellsOf(line) > width);
  return width > LEAST_ROOM && isLeft && columns.length > 1 && isWide
    ? withWrappedTexts(output, columns, rows, width)
    : text;
}

function withWrappedTexts(
  output: Output,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string {
  const [before, cut] = narrowed(columns.slice(0, -1), rows, width);
  const { title: lastTitle, width: lastWidth = 0 } = columns.at(-1) ?? { title: '' };
  const room = width - before - GAP;
  const isBeside = room >= LEAST_ROOM;
  const texts = rows.map((row) => {
    const text = row.at(-1)?.replaceAll(/\r?\n/g, '⏎') ?? '';
    return wrapToCells(text, isBeside ? room : width - BELOW.length, true).split('\n');
  });
  const firsts = cut.map((row, index) => (isBeside ? [...row, texts[index]?.[0] ?? ''] : row));
  const last = { title: lastTitle, width: Math.min(lastWidth, room) };
  const titles = isBeside ? [...columns.slice(0, -1), last] : columns.slice(0, -1);
  const [head = '', ...lines] = aligned(output, titles, firsts);
  const more = lines.flatMap((line, index) => {
    const rest = texts[index]?.slice(isBeside ? 1 : 0).filter((text) => text !== '') ?? [];
    const indent = isBeside ? ' '.repeat(before + GAP) : BELOW;
    return [line, ...rest.map((text) => indent + text)];
  });
  // A column below its row has its title there too.
  const below = isBeside ? [] : [BELOW + paint(output, 'bold', lastTitle)];
  return [head, ...below, ...more].join('\n');
}

/** At most this share of the rows is cut to make room for the last column beside them. */
const MOST_CUT = 0.1;

/**
 * Cuts the widest column at the left until the row fits, and further if only a few long names then keep the
 * last column from its place. A cut is in the middle: an id at the end of a name stays.
 * @returns the width of the rows, and their cells
 */
function narrowed(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): [width: number, rows: string[][]] {
  const widths = columns.map(({ title, width: least = 0 }, index) =>
    Math.max(least, cellsOf(title), ...rows.map((row) => cellsOf(row[index] ?? ''))),
  );
  const whole = widths.reduce((sum, cells) => sum + cells, GAP * (columns.length - 1));
  const widest = columns.reduce(
    (best, { align }, index) =>
      align !== 'right' && (widths[index] ?? 0) > (widths[best] ?? 0) ? index : best,
    0,
  );
  const most = mostCells(
    rows.map((row) => cellsOf(row[widest] ?? '')),
    (widths[widest] ?? 0) - (whole - width),
  );
  const over = (widths[widest] ?? 0) - most;
  const cut = rows.map((row) =>
    columns.map((_, index) =>
      index === widest && over > 0 ? cutToCells(row[index] ?? '', most, 'middle') : (row[index] ?? ''),
    ),
  );
  return [over > 0 ? whole - over : whole, cut];
}

/** To how many cells a column is cut that may fill `room` cells and leaves nothing to the last column. */
function mostCells(cells: readonly number[], room: number): number {
  const beside = room - GAP - LEAST_ROOM;
  const longer = cells.filter((one) => one > beside).length;
  return Math.max(LEAST_WIDTH, longer > 0 && longer <= MOST_CUT * cells.length ? beside : room);
}

/** The titles and the rows, a line each. Its time grows with the length of all cells, however long one is. */
function aligned(output: Output, columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => columns.map((_, index) => (row[index] ?? '').replaceAll(/\r?\n/g, '⏎')));
  const all = [columns.map(({ title }) => paint(output, 'bold', title)), ...cells].map((row) =>
    row.map((text) => ({ text, width: cellsOf(text) })),
  );
  const widths = columns.map(({ width: least = 0 }, index) =>
    all.reduce((most, row) => Math.max(most, row[index]?.width ?? 0), least),
  );
  return all.map((row) =>
    row
      .map(({ text, width }, index) => {
        const room = ' '.repeat((widths[index] ?? 0) - width);
        return columns[index]?.align === 'right' ? room + text : text + room;
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}
