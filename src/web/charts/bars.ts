import { scaleBand } from 'd3-scale';
import { html, type Html } from '../frame/html.ts';
import {
  type ChartOptions,
  figure,
  hoverRows,
  nameAxis,
  round,
  SIZE,
  valueAxis,
  valueScale,
} from './frame.ts';

/** A bar is at most this many units wide. */
const MOST_WIDTH = 18;

/** A group of bars for each row, side by side. */
export function barsChart<Row>(options: ChartOptions<Row>): Html {
  const { rows, series } = options;
  return figure(options, () => {
    const y = valueScale(Math.max(...rows.flatMap((row) => series.map(({ value }) => value(row)))));
    const band = scaleBand<number>()
      .domain(rows.map((_row, index) => index))
      .range([SIZE.left, SIZE.width - SIZE.right])
      .paddingInner(0.25);
    const left = (index: number): number => band(index) ?? 0;
    const width = Math.min(MOST_WIDTH, band.bandwidth() / series.length);
    // The bars of a wide row keep to its middle.
    const inset = (band.bandwidth() - width * series.length) / 2;
    const bars = series.map(({ colour, value }, nth) => {
      const path = rows.map((row, index) => {
        const [from, top] = [left(index) + inset + nth * width, y(value(row))];
        return `M${round(from)},${round(y(0))}V${round(top)}h${round(width)}V${round(y(0))}z`;
      });
      return html`<path class="bar series-${colour}" d="${path.join('')}" />`;
    });
    const middle = (index: number): number => left(index) + band.bandwidth() / 2;
    const column = (index: number) => ({ from: left(index), width: band.step() });
    return html`${valueAxis(y)}${bars}${nameAxis(options, middle)}${hoverRows(options, column)}`;
  });
}
