import { type ScaleLinear, scaleLinear } from 'd3-scale';
import { thousands } from '../../core/humanize.ts';
import { html, type Html } from '../frame/html.ts';
import { table } from '../frame/layout.ts';
import { dayWords } from '../frame/words.ts';

/** Units of a chart's coordinate system, which the browser scales to the width at hand. */
export const SIZE = { width: 560, height: 220, left: 52, right: 8, top: 10, bottom: 26 } as const;

/** About this many horizontal lines. */
const LINES = 4;

/** About this many days are named below a chart. */
const NAMED_DAYS = 4;

/** A figure for each day, drawn in the colour of `series-NAME` of the style sheet. */
export interface Series<Day> {
  readonly name: string;
  readonly colour: 'open' | 'pending' | 'closed' | 'appeared' | 'plain';
  readonly value: (day: Day) => number;
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

/** The names of some days, from left to right. @param x the middle of a day */
export function dayAxis(days: readonly { readonly day: string }[], x: (index: number) => number): Html {
  const step = Math.max(1, Math.ceil(days.length / NAMED_DAYS));
  const shown = days.flatMap(({ day }, index) =>
    (days.length - 1 - index) % step === 0 ? [{ day, index }] : [],
  );
  return html`<g class="axis"
    >${shown.map(({ day, index }) => {
      const at = x(index);
      const anchor = at > SIZE.width - 50 ? 'end' : at < SIZE.left + 20 ? 'start' : 'middle';
      return html`<text x="${round(at)}" y="${SIZE.height - 8}" text-anchor="${anchor}"
        >${dayWords(day)}</text
      >`;
    })}</g
  >`;
}

/** Invisible columns that show a day's numbers on hover. */
export function hoverDays<Day extends { readonly day: string }>(
  days: readonly Day[],
  series: readonly Series<Day>[],
  x: (index: number) => { readonly from: number; readonly width: number },
): Html {
  return html`<g class="hover"
    >${days.map((day, index) => {
      const { from, width } = x(index);
      const words = series.map(({ name, value }) => `${name} ${thousands(value(day))}`).join(', ');
      return html`<rect x="${round(from)}" y="0" width="${round(width)}" height="${SIZE.height - SIZE.bottom}"
        ><title>${dayWords(day.day)}: ${words}</title></rect
      >`;
    })}</g
  >`;
}

/** A chart with its title, its legend, and its numbers in a table below. */
export function figure<Day extends { readonly day: string }>(
  { title, days, series, empty }: ChartOptions<Day>,
  drawing: () => Html,
): Html {
  const rows = days.map((day) => [dayWords(day.day), ...series.map(({ value }) => thousands(value(day)))]);
  const columns = [{ name: 'Day' }, ...series.map(({ name }) => ({ name, number: true }))];
  if (days.length === 0) return html`<p class="empty">${empty}</p>`;
  return html`<figure>
    <figcaption>
      <span class="hidden">${title}. </span>${series.map(
        ({ name, colour }) => html`<span class="key series-${colour}">${name}</span>`,
      )}
    </figcaption>
    <svg
      viewBox="0 0 ${SIZE.width} ${SIZE.height}"
      role="img"
      aria-label="${title}; the table below has the numbers"
    >
      ${drawing()}
    </svg>
    <details>
      <summary>Numbers</summary>
      ${table(title, columns, rows.toReversed(), empty)}
    </details>
  </figure>`;
}

export interface ChartOptions<Day> {
  readonly title: string;
  /** The oldest first. */
  readonly days: readonly Day[];
  readonly series: readonly Series<Day>[];
  /** The sentence in place of a chart without days. */
  readonly empty: string;
}

/** A coordinate with one digit: more would be invisible, and travel. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function short(value: number): string {
  return value >= 10_000 ? `${value / 1000}k` : thousands(value);
}
