import type { BoundedRows } from '../../query/reads/bounded.ts';
import { barsChart } from '../charts/bars.ts';
import { linesChart } from '../charts/lines.ts';
import type { Html } from '../frame/html.ts';
import { dayWords } from '../frame/words.ts';

/** A chart has at least 2 rows and at most this many; more bars than `MOST_BARS` would be too thin. */
const MOST_ROWS = 400;
const MOST_BARS = 45;

/** At most this many characters of a name stand below a bar; the table has the whole name. */
const MOST_CHARACTERS = 14;

const COLOURS = ['open', 'pending', 'closed'] as const;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * A chart of an answer whose first column has names or days and whose next ones are numbers: lines over days,
 * else bars. Null for any other answer.
 */
export function chartOf({ columns, rows }: BoundedRows): Html | null {
  const [first] = rows;
  if (first === undefined || rows.length < 2 || rows.length > MOST_ROWS) return null;
  if (!rows.every(([name]) => typeof name === 'string')) return null;
  const numbers = columns
    .map((_column, index) => index)
    .filter((index) => index > 0 && isNumeric(rows, index));
  // Columns after the first that is no number are not part of the chart.
  const drawn = numbers.filter((index, nth) => index === nth + 1).slice(0, COLOURS.length);
  if (drawn.length === 0) return null;
  const isOverDays = rows.every(([name]) => DAY.test(String(name)));
  if (!isOverDays && rows.length > MOST_BARS) return null;
  const years = new Set(rows.map(([day]) => String(day).slice(0, 4)));
  const named = (day: string): string =>
    years.size > 1 ? `${dayWords(day)} ${day.slice(0, 4)}` : dayWords(day);
  const ordered = isOverDays ? rows.toSorted(([a], [b]) => String(a).localeCompare(String(b))) : rows;
  const options = {
    title: `${drawn.map((index) => columns[index]?.name).join(', ')} by ${columns[0]?.name}`,
    rows: ordered,
    unit: columns[0]?.name ?? '',
    label: ([name]: (typeof rows)[number]) => (isOverDays ? named(String(name)) : String(name)),
    axisLabel: isOverDays ? undefined : shortened,
    tableOrder: isOverDays ? ('last first' as const) : ('as drawn' as const),
    series: drawn.map((index, nth) => ({
      name: columns[index]?.name ?? '',
      colour: COLOURS[nth] ?? ('plain' as const),
      value: (row: (typeof rows)[number]) => Number(row[index]),
    })),
    empty: '',
  };
  return isOverDays ? linesChart(options) : barsChart(options);
}

function isNumeric(rows: BoundedRows['rows'], index: number): boolean {
  return rows.every((row) => typeof row[index] === 'number' && row[index] >= 0);
}

/** The end of an id tells it apart from others, the beginning of any other name. */
function shortened(name: string): string {
  if (name.length <= MOST_CHARACTERS) return name;
  const kept = MOST_CHARACTERS - 1;
  return /^\S*\d$/.test(name) ? `…${name.slice(-kept)}` : `${name.slice(0, kept)}…`;
}
