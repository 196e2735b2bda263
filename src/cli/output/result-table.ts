import cliTruncate from 'cli-truncate';
import stringWidth from 'string-width';
import { plural } from '../../core/humanize.ts';
import type { Cell, QueryResult } from '../../query/result.ts';
import { asCell, type Output, paint, printLine, printWarning, type Streams } from '../../session/terminal.ts';
import { asText } from './cells.ts';
import { renderTable } from './table.ts';

/** At most this many rows in a table: all are in memory while it is laid out. */
const MOST_ROWS = 10_000;

/**
 * Prints rows under their titles. On a terminal, cells are cut to its width. If the columns still do not fit,
 * each row becomes a block of lines.
 */
export async function printTable({ stdout, stderr }: Streams, { columns, rows }: QueryResult): Promise<void> {
  const titles = columns.map(({ name }) => asCell(name));
  const { first, complete } = await firstOf(rows, MOST_ROWS);
  const isNumeric = titles.map(
    (_title, index) =>
      first.some((row) => row[index] !== null) &&
      first.every((row) => row[index] === null || typeof row[index] === 'number'),
  );
  const texts = first.map((row) => row.map((cell) => asCell(asText(cell))));
  const { text, isCut } = layOut(stdout, { titles, isNumeric, texts });
  printLine(stdout, text);
  const cut = isCut ? '; cut to the width of the terminal, --format json shows all' : '';
  printLine(stdout, `(${complete ? '' : 'the first '}${plural(first.length, 'row')}${cut})`);
  if (!complete)
    printWarning(stderr, 'there are more rows than a table shows; --format csv or ndjson prints them all.');
}

/** At most `most` rows, and whether there were no more. */
async function firstOf(
  rows: QueryResult['rows'],
  most: number,
): Promise<{ first: Cell[][]; complete: boolean }> {
  const first: Cell[][] = [];
  for await (const row of rows) {
    if (first.length === most) return { first, complete: false };
    first.push(row);
  }
  return { first, complete: true };
}

interface Content {
  readonly titles: readonly string[];
  readonly isNumeric: readonly boolean[];
  readonly texts: readonly (readonly string[])[];
}

function layOut(output: Output, { titles, isNumeric, texts }: Content): { text: string; isCut: boolean } {
  const columns = titles.map((title, index) => ({
    title,
    align: isNumeric[index] === true ? ('right' as const) : ('left' as const),
  }));
  if (output.isTTY !== true || !output.columns)
    return { text: renderTable(output, columns, texts), isCut: false };
  const needed = neededCells(titles, texts);
  const widths = fitColumns(
    needed.map((cells, index) => ({ cells, isNumeric: isNumeric[index] === true })),
    output.columns,
  );
  if (widths === null) return asBlocks(output, titles, texts, output.columns);
  const fitted = columns.map(({ title, align }, index) => ({
    title: cliTruncate(title, widths[index] ?? 0),
    align,
  }));
  const text = renderTable(
    output,
    fitted,
    texts.map((row) => row.map((cell, index) => cliTruncate(cell, widths[index] ?? 0))),
  );
  return { text, isCut: widths.some((cells, index) => cells < (needed[index] ?? 0)) };
}

/** Each row as a block, with a line for each column. */
function asBlocks(
  output: Output,
  titles: readonly string[],
  texts: readonly (readonly string[])[],
  width: number,
): { text: string; isCut: boolean } {
  const indent = Math.min(Math.max(...titles.map((text) => stringWidth(text))), Math.floor(width / 2));
  let isCut = false;
  const blocks = texts.map((row, index) => {
    const lines = row.map((cell, column) => {
      const title = cliTruncate(titles[column] ?? '', indent);
      const shown = cliTruncate(cell, width - indent - 2);
      isCut ||= shown !== cell;
      return `${paint(output, 'bold', title)}${' '.repeat(indent - stringWidth(title))}  ${shown}`.trimEnd();
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
  return { text: blocks.join('\n'), isCut };
}

/** Spaces between two columns. */
const GAP = 2;

/** No column is cut to fewer characters than this. */
const LEAST = 12;

/**
 * The width of each column on a terminal of `width` cells. The widest columns are cut first, numbers never.
 * @returns null if the columns do not fit even then
 */
function fitColumns(
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

/** The width that each column needs to show all its text. */
function neededCells(titles: readonly string[], rows: readonly (readonly string[])[]): number[] {
  return titles.map((title, index) =>
    rows.reduce((most, row) => Math.max(most, stringWidth(row[index] ?? '')), stringWidth(title)),
  );
}
