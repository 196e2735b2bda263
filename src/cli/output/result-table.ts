import cliTruncate from 'cli-truncate';
import stringWidth from 'string-width';
import { plural } from '../../core/humanize.ts';
import type { Cell, QueryResult } from '../../query/result.ts';
import { type Io, type Output, paint, printLine } from '../../session/terminal.ts';
import { asText } from './cells.ts';
import { renderTable } from './table.ts';

/** What anybody can read, and what the table's layout can bear. */
const MOST_ROWS = 10_000;

/** Prints rows under their titles. On a terminal cells are cut to its width; where the columns do not fit even so, each row is a block of lines. */
export async function printTable(io: Io, { columns, rows }: QueryResult): Promise<void> {
  const titles = columns.map(({ name }) => name);
  const { first, complete } = await firstOf(rows, MOST_ROWS);
  const isNumeric = titles.map(
    (_title, index) =>
      first.some((row) => row[index] !== null) &&
      first.every((row) => row[index] === null || typeof row[index] === 'number'),
  );
  const texts = first.map((row) => row.map((cell) => onOneLine(asText(cell), io.stdout)));
  const { text, isCut } = layOut(io.stdout, { titles, isNumeric, texts });
  printLine(io.stdout, text);
  const cut = isCut ? '; cut to the width of the terminal, --format json shows all' : '';
  printLine(io.stdout, `(${complete ? '' : 'the first '}${plural(first.length, 'row')}${cut})`);
  if (!complete)
    printLine(
      io.stderr,
      'warning: there are more rows than a table shows; --format csv or ndjson prints them all.',
    );
}

/** Of the rows at most `most`, and whether that was all. */
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

/** A line for each column of each row. */
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

/** A row stays a row; and what somebody wrote into a subject or a name does not command the terminal. */
function onOneLine(text: string, output: Output): string {
  const line = text.replaceAll(/\r?\n/g, '⏎');
  return output.isTTY === true ? line.replaceAll(/\p{Cc}/gu, '�') : line;
}

/** Between two columns. */
const GAP = 2;

/** What a column may be cut to: less tells nothing. */
const LEAST = 12;

/**
 * How wide each column may be on a terminal of so many cells: the widest are cut first, numbers never.
 * @returns null where even so the columns do not fit beside each other
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

/** How wide each column would have to be to show all of it. */
function neededCells(titles: readonly string[], rows: readonly (readonly string[])[]): number[] {
  return titles.map((title, index) =>
    rows.reduce((most, row) => Math.max(most, stringWidth(row[index] ?? '')), stringWidth(title)),
  );
}
