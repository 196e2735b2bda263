import { MirrorError } from '../../core/errors.ts';
import { cellsOf, cutToCells, plural, thousands } from '../../core/humanize.ts';
import { asText } from '../../query/cells.ts';
import type { Cell, QueryResult } from '../../query/result.ts';
import { asCell, type Output, paint, printLine } from '../../session/terminal.ts';
import { sparkline } from './sparkline.ts';

/** A chart has at most this many rows. */
const MOST_ROWS = 400;

/** Columns of an output that is no terminal. */
const USUAL_WIDTH = 80;

/** A label is cut to at most this share of the width. */
const MOST_LABEL = 0.4;

/** A bar has at least this many columns, also on a narrower terminal. */
const LEAST_BAR = 10;

/** Numbers in columns of these names say when: they name a row, and are no figures. */
const TIMES: ReadonlySet<string> = new Set(['year', 'month', 'week', 'weekday', 'day', 'hour']);

/** A label that is a day, a month, an instant, or the number of a year, month, week, day or hour. */
const TIME = /^(?:\d{1,2}|\d{4}(?:-\d{2}(?:-\d{2}(?:[T ]\d{2}:\S*)?)?)?)$/;

/** The columns of a result that a chart draws. */
interface Content {
  /** A day, a name or any other value for each row. */
  readonly labels: readonly string[];
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
}

/**
 * Draws a result. Its first column names the rows; if it repeats, the other columns of words and times, ids
 * aside, name them too. Each other column of numbers is drawn: as a bar for each row, or, if there are
 * several and the rows are times, as a sparkline.
 * @throws MirrorError `USAGE` for a result without a column of numbers after the first, and for too many rows
 */
export async function printChart(output: Output, result: QueryResult): Promise<void> {
  const rows = await gather(result.rows);
  if (rows.length === 0) {
    printLine(output, '(0 rows)');
    return;
  }
  const content = contentOf(result, rows);
  const width = output.isTTY === true && output.columns ? output.columns : USUAL_WIDTH;
  const isOverTime = content.labels.every((label) => TIME.test(label));
  const lines =
    content.series.length > 1 && isOverTime ? sparkLines(content) : barSections(output, content, width);
  for (const line of lines) printLine(output, line);
  printLine(output, `(${plural(rows.length, 'row')})`);
}

async function gather(rows: QueryResult['rows']): Promise<Cell[][]> {
  const gathered: Cell[][] = [];
  for await (const row of rows) {
    if (gathered.length === MOST_ROWS)
      throw new MirrorError(
        'USAGE',
        `--chart draws at most ${MOST_ROWS} rows, and the result has more. Ask for fewer days, add ` +
          'LIMIT, or group the rows.',
      );
    gathered.push(row);
  }
  return gathered;
}

function contentOf({ columns }: QueryResult, rows: readonly Cell[][]): Content {
  const isOfNumbers = (index: number): boolean => {
    const cells = rows.map((row) => row[index] ?? null).filter((cell) => cell !== null);
    return cells.length > 0 && cells.every((cell) => typeof cell === 'number' || typeof cell === 'bigint');
  };
  const numbers = columns.flatMap(({ name }, index) =>
    index > 0 && isOfNumbers(index) ? [{ name, index }] : [],
  );
  const figures = numbers.filter(({ name }) => !TIMES.has(name));
  const drawn = figures.length === 0 ? numbers : figures;
  if (drawn.length === 0)
    throw new MirrorError(
      'USAGE',
      '--chart needs a result whose first column names the rows, such as a day, and that has a column of ' +
        `numbers after it. This one has ${columns.map(({ name }) => JSON.stringify(name)).join(', ')}.`,
    );
  return {
    labels: labelsOf(
      rows,
      columns.flatMap(({ name }, index) =>
        index > 0 && !name.endsWith('_id') && drawn.every((one) => one.index !== index) ? [index] : [],
      ),
    ),
    series: drawn.map(({ name, index }) => ({
      name: asCell(name),
      values: rows.map((row) => (row[index] == null ? null : Number(row[index]))),
    })),
  };
}

/** The first cell of each row, with those of `more` columns if it does not tell the rows apart. */
function labelsOf(rows: readonly Cell[][], more: readonly number[]): string[] {
  const isUnique = new Set(rows.map(([label = null]) => asText(label))).size === rows.length;
  const naming = isUnique ? [0] : [0, ...more];
  return rows.map((row) => naming.map((index) => asCell(asText(row[index] ?? null))).join(' '));
}

/** The bars of each series; below its name if there are several. Each has a scale of its own. */
function barSections(output: Output, { labels, series }: Content, width: number): string[] {
  return series.flatMap(({ name, values }, nth) => {
    const bars = barLines(output, { labels, values }, width);
    if (series.length === 1) return bars;
    return [...(nth === 0 ? [] : ['']), paint(output, 'bold', name), ...bars];
  });
}

interface Bars {
  readonly labels: readonly string[];
  readonly values: readonly (number | null)[];
}

/** A line for each row: its label, a bar and its number. A number below 0 has no bar. */
function barLines(output: Output, { labels, values }: Bars, width: number): string[] {
  const numbers = values.map((value) => (value === null ? 'NULL' : thousands(value)));
  const labelWidth = Math.min(Math.floor(MOST_LABEL * width), widest(labels));
  const room = Math.max(LEAST_BAR, width - labelWidth - widest(numbers) - 4);
  const greatest = Math.max(0, ...values.map((value) => value ?? 0));
  return labels.map((label, index) => {
    const value = values[index] ?? 0;
    const length = value > 0 ? Math.max(1, Math.round((value / greatest) * room)) : 0;
    const number = numbers[index] ?? '';
    const right = ' '.repeat(widest(numbers) - number.length) + number;
    const bar = length === 0 ? '' : paint(output, 'cyan', '█'.repeat(length));
    return `${padded(cutToCells(label, labelWidth), labelWidth)}  ${right}  ${bar}`.trimEnd();
  });
}

/** A line for each series: its name, a picture, its least and greatest number. Then both end labels. */
function sparkLines({ labels, series }: Content): string[] {
  const nameWidth = widest(series.map(({ name }) => name));
  const lines = series.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    const range = `${thousands(Math.min(...known))} to ${thousands(Math.max(...known))}`;
    return `${padded(name, nameWidth)}  ${sparkline(values)}  ${range}`;
  });
  return [...lines, `${' '.repeat(nameWidth)}  ${labels[0]} to ${labels.at(-1)}`];
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => cellsOf(text)));
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - cellsOf(text)));
}
