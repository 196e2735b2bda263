import { cellsOf, cutToCells, plural } from '../../core/humanize.ts';
import { asText } from '../../query/cells.ts';
import type { QueryResult } from '../../query/result.ts';
import { asCell, type Output, paint, printLine, type Streams } from '../../session/terminal.ts';
import { MOST_TABLE_ROWS } from '../arguments.ts';
import { GAP, LEAST_WIDTH, renderTable } from './table.ts';

/** A table has this many rows without a `--limit`. */
const USUAL_ROWS = 1000;

/** A table ends before its cells, padded to the width of their column, have more characters than this. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** Rows that are laid out and printed at a time: the text of a whole result can be large. */
const ROWS_AT_A_TIME = 100;

/** On a terminal, a cell keeps this many characters for each column of the width before it is measured. */
const CHARACTERS_PER_COLUMN = 4;

/** An instant as the mirror stores it, with its date and its time of day. */
const INSTANT = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{3}\+00:00$/;

/**
 * Prints rows under their titles. On a terminal that is too narrow, instants lose their milliseconds and
 * zone, then cells are cut. If the columns still do not fit, each row becomes a block of lines. The line
 * under the table says whether there are more rows.
 */
export async function printTable(
  { stdout }: Streams,
  { columns, rows }: QueryResult,
  limit = USUAL_ROWS,
): Promise<void> {
  const titles = columns.map(({ name }) => asCell(name));
  const { content, complete } = await gather(rows, { titles, limit, width: widthOf(stdout) });
  const { pieces, isCut, isShort } = layOut(stdout, content);
  for (const text of pieces) printLine(stdout, text);
  const count = plural(content.texts.length, 'row') + (isShort ? '; times in UTC' : '');
  const all = isCut ? `${count}; cut to the width of the terminal, --format json shows all` : count;
  const mayGrow = content.texts.length === limit && limit < MOST_TABLE_ROWS;
  const more = mayGrow ? '--limit prints more, --format csv all' : '--format csv prints all';
  const some = `the first ${count}${isCut ? ', cut to the width' : ''}; ${more}`;
  printLine(stdout, `(${complete ? all : some})`);
}

/** The columns of a terminal; null for a pipe or a file, which gets every cell whole. */
function widthOf(output: Output): number | null {
  return output.isTTY === true && output.columns ? output.columns : null;
}

interface Content {
  readonly titles: readonly string[];
  readonly isNumeric: readonly boolean[];
  /** Columns of nothing but stored instants. */
  readonly isInstant: readonly boolean[];
  readonly texts: readonly (readonly string[])[];
}

/** Reads at most `limit` rows and not more than fit. `complete`: there were no more. */
async function gather(
  rows: QueryResult['rows'],
  { titles, limit, width }: { titles: readonly string[]; limit: number; width: number | null },
): Promise<{ content: Content; complete: boolean }> {
  const longest = width === null ? Number.POSITIVE_INFINITY : width * CHARACTERS_PER_COLUMN;
  const lengths = titles.map((title) => title.length);
  const hasText = titles.map(() => false);
  const hasNumber = titles.map(() => false);
  const hasOther = titles.map(() => false);
  const texts: string[][] = [];
  let complete = true;
  for await (const row of rows) {
    const cells = row.map((cell) => asCell(asText(cell).slice(0, longest)));
    for (const [index, cell] of cells.entries()) lengths[index] = Math.max(lengths[index] ?? 0, cell.length);
    const area = (texts.length + 1) * lengths.reduce((sum, length) => sum + length, 0);
    if (texts.length === limit || (area > MOST_CHARACTERS && texts.length > 0)) {
      complete = false;
      break;
    }
    for (const [index, cell] of row.entries()) {
      if (typeof cell === 'number') hasNumber[index] = true;
      else if (cell !== null) hasText[index] = true;
      if (cell !== null && !INSTANT.test(cells[index] ?? '')) hasOther[index] = true;
    }
    texts.push(cells);
  }
  const isNumeric = titles.map((_title, index) => hasNumber[index] === true && hasText[index] === false);
  const isInstant = titles.map((_title, index) => hasText[index] === true && hasOther[index] === false);
  return { content: { titles, isNumeric, isInstant, texts }, complete };
}

/** A table's text in pieces of some lines. */
interface Layout {
  readonly pieces: Iterable<string>;
  readonly isCut: boolean;
  /** Instants stand without their milliseconds and zone. */
  readonly isShort: boolean;
}

function layOut(output: Output, whole: Content): Layout {
  const width = widthOf(output);
  const full = neededCells(whole);
  if (width === null || totalOf(full) <= width)
    return { pieces: asPieces(output, whole, full), isCut: false, isShort: false };
  const content = withShortInstants(whole);
  const isShort = content.isInstant.includes(true);
  const needed = neededCells(content);
  const columns = needed.map((cells, index) => ({
    cells,
    isWhole: content.isNumeric[index] === true || content.isInstant[index] === true,
  }));
  const widths = fitColumns(columns, width);
  if (widths === null) return { ...asBlocks(output, content, width), isShort };
  const isCut = widths.some((cells, index) => cells < (needed[index] ?? 0));
  return { pieces: asPieces(output, isCut ? cutTo(widths, content) : content, widths), isCut, isShort };
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, cells) => sum + cells, GAP * (widths.length - 1));
}

function withShortInstants(content: Content): Content {
  const short = (text: string, index: number): string =>
    content.isInstant[index] === true ? text.replace(INSTANT, '$1 $2') : text;
  return { ...content, texts: content.texts.map((row) => row.map(short)) };
}

/** The titles and the cells, cut to the widths of their columns. */
function cutTo(widths: readonly number[], content: Content): Content {
  const fit = (text: string, index: number): string => cutToCells(text, widths[index] ?? 0);
  return { ...content, titles: content.titles.map(fit), texts: content.texts.map((row) => row.map(fit)) };
}

/** The rows under their titles. Each piece is a table of the same widths; only the first shows the titles. */
function* asPieces(
  output: Output,
  { titles, isNumeric, texts }: Content,
  widths: readonly number[],
): Generator<string> {
  const columns = titles.map((title, index) => ({
    title,
    align: isNumeric[index] === true ? ('right' as const) : ('left' as const),
    width: widths[index] ?? 0,
  }));
  yield renderTable(output, columns, texts.slice(0, ROWS_AT_A_TIME));
  for (let from = ROWS_AT_A_TIME; from < texts.length; from += ROWS_AT_A_TIME) {
    const piece = renderTable(output, columns, texts.slice(from, from + ROWS_AT_A_TIME));
    yield piece.slice(piece.indexOf('\n') + 1);
  }
}

/** Each row as a block, with a line for each column. */
function asBlocks(
  output: Output,
  { titles, texts }: Content,
  width: number,
): Pick<Layout, 'pieces' | 'isCut'> {
  const indent = Math.min(Math.max(...titles.map((text) => cellsOf(text))), Math.floor(width / 2));
  let isCut = false;
  const blocks = texts.map((row, index) => {
    const lines = row.map((cell, column) => {
      const title = cutToCells(titles[column] ?? '', indent);
      const shown = cutToCells(cell, width - indent - 2);
      isCut ||= shown !== cell;
      return `${paint(output, 'bold', title)}${' '.repeat(indent - cellsOf(title))}  ${shown}`.trimEnd();
    });
    return [
      paint(
        output,
        'dim',
        `row ${index + 1} ${'─'.repeat(Math.max(0, Math.min(width, 40) - 5 - String(index + 1).length))}`,
      ),
      ...lines,
    ].join('\n');
  });
  return { pieces: blocks, isCut };
}

/**
 * The width of each column on a terminal of `width` cells. The widest columns are cut first, numbers and
 * instants never.
 * @returns null if the columns do not fit even then
 */
function fitColumns(
  columns: readonly { readonly cells: number; readonly isWhole: boolean }[],
  width: number,
): number[] | null {
  const cutAt = (most: number): number[] =>
    columns.map(({ cells, isWhole }) => (isWhole ? cells : Math.min(cells, most)));
  for (let most = width; most >= LEAST_WIDTH; most--) {
    const widths = cutAt(most);
    if (totalOf(widths) <= width) return widths;
  }
  return null;
}

/** The width that each column needs to show all its text. */
function neededCells({ titles, texts }: Pick<Content, 'titles' | 'texts'>): number[] {
  return titles.map((title, index) =>
    texts.reduce((most, row) => Math.max(most, cellsOf(row[index] ?? '')), cellsOf(title)),
  );
}
