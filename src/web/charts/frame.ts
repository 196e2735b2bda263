import { type ScaleLinear, scaleLinear } from 'd3-scale';
import { thousands } from '../../core/humanize.ts';
import { html, type Html } from '../frame/html.ts';
import { table } from '../frame/layout.ts';

/** Units of a chart's coordinate system, which the browser scales to the width at hand. */
export const SIZE = { width: 560, height: 220, left: 52, right: 8, top: 10, bottom: 26 } as const;

/** About this many horizontal lines. */
const LINES = 4;

/** About this many rows are named below a chart where not all of them can be. */
const NAMED = 4;

/** Units that a character of a name takes at most, and a phone's larger letters with it. */
const CHARACTER = 9;

/** A figure of each row, drawn in the colour of `series-NAME` of the style sheet. */
export interface Series<Row> {
  readonly name: string;
  readonly colour: 'open' | 'pending' | 'closed' | 'appeared' | 'plain' | 'fifth';
  readonly value: (row: Row) => number;
}

export interface ChartOptions<Row> {
  readonly title: string;
  /** From left to right: the oldest first. */
  readonly rows: readonly Row[];
  /** The name of a row, below the chart, on hover and in the table. */
  readonly label: (row: Row) => string;
  /** Shortens a name for its place below the chart; by default it is shown whole. */
  readonly axisLabel?: ((label: string) => string) | undefined;
  /** The order of the table's rows; by default the last, which is the newest, comes first. */
  readonly tableOrder?: 'last first' | 'as drawn';
  /** The head of the table's first column: the unit of a row. */
  readonly unit: string;
  readonly series: readonly Series<Row>[];
  /** Writes a value; by default as a number. */
  readonly words?: (value: number) => string;
  /** The sentence in place of a chart without rows. */
  readonly empty: string;
}

/** A scale of values whose top is a round number. */
export function valueScale(most: number): ScaleLinear<number, number> {
  return scaleLinear()
    .domain([0, Math.max(1, most)])
    .range([SIZE.height - SIZE.bottom, SIZE.top])
    .nice(LINES);
}

/** Horizontal lines with their values. */
export function valueAxis(y: ScaleLinear<number, number>): Html {
  const ticks = y.ticks(LINES).filter(Number.isInteger);
  const [from, to] = [SIZE.left, SIZE.width - SIZE.right];
  return html`<g class="axis">
    ${ticks.map((tick) => {
      const at = round(y(tick));
      return html`<line x1="${from}" x2="${to}" y1="${at}" y2="${at}" />
        <text x="${from - 6}" y="${at + 4}" text-anchor="end">${short(tick)}</text>`;
    })}
  </g>`;
}

/** The names of all rows, or of some if they would run into each other. @param x the middle of a row */
export function nameAxis<Row>(
  { rows, label, axisLabel = (name) => name }: ChartOptions<Row>,
  x: (index: number) => number,
): Html {
  const names = rows.map((row) => axisLabel(label(row)));
  const longest = Math.max(...names.map((name) => name.length));
  const areAllNamed = rows.length * (longest + 1) * CHARACTER <= SIZE.width - SIZE.left;
  const step = areAllNamed ? 1 : Math.ceil(rows.length / NAMED);
  const texts = names.map((name, index) => {
    if ((rows.length - 1 - index) % step !== 0) return null;
    const at = x(index);
    const anchor = at > SIZE.width - 50 ? 'end' : at < SIZE.left + 20 ? 'start' : 'middle';
    return html`<text x="${round(at)}" y="${SIZE.height - 8}" text-anchor="${anchor}">${name}</text>`;
  });
  return html`<g class="axis">${texts}</g>`;
}

/** Invisible columns that show a row's numbers on hover. */
export function hoverRows<Row>(
  { rows, label, series, words = thousands }: ChartOptions<Row>,
  x: (index: number) => { readonly from: number; readonly width: number },
): Html {
  const height = SIZE.height - SIZE.bottom;
  const columns = rows.map((row, index) => {
    const { from, width } = x(index);
    const values = series.map(({ name, value }) => `${name} ${words(value(row))}`).join(', ');
    const title = html`<title>${label(row)}: ${values}</title>`;
    return html`<rect x="${round(from)}" y="0" width="${round(width)}" height="${height}">${title}</rect>`;
  });
  return html`<g class="hover">${columns}</g>`;
}

/** A chart with its title, its legend, and its numbers in a table below. */
export function figure<Row>(options: ChartOptions<Row>, drawing: () => Html): Html {
  const { title, rows, label, unit, series, words = thousands, tableOrder = 'last first', empty } = options;
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const cells = rows.map((row) => [label(row), ...series.map(({ value }) => words(value(row)))]);
  const columns = [{ name: unit }, ...series.map(({ name }) => ({ name, number: true }))];
  const keys = series.map(({ name, colour }) => html`<span class="key series-${colour}">${name}</span>`);
  return html`<figure>
    <figcaption><span class="hidden">${title}. </span>${keys}</figcaption>
    <svg
      viewBox="0 0 ${SIZE.width} ${SIZE.height}"
      role="img"
      aria-label="${title}; the table below has the numbers"
    >
      ${drawing()}
    </svg>
    <details>
      <summary>Numbers</summary>
      ${table(title, columns, tableOrder === 'as drawn' ? cells : cells.toReversed(), empty)}
    </details>
  </figure>`;
}

/** A coordinate with one digit: more would be invisible, and travel. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function short(value: number): string {
  return value >= 10_000 ? `${value / 1000}k` : thousands(value);
}
