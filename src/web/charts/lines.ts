import { curveMonotoneX, line } from 'd3-shape';
import { html, type Html } from '../frame/html.ts';
import { barsChart } from './bars.ts';
import { type ChartOptions, figure, hoverRows, nameAxis, SIZE, valueAxis, valueScale } from './frame.ts';

/** A line for each series. */
export function linesChart<Row>(options: ChartOptions<Row>): Html {
  const { rows, series } = options;
  // A single row has no width of its own.
  if (rows.length === 1) return barsChart(options);
  return figure(options, () => {
    const y = valueScale(Math.max(...rows.flatMap((row) => series.map(({ value }) => value(row)))));
    const width = SIZE.width - SIZE.left - SIZE.right;
    const step = width / (rows.length - 1);
    const x = (index: number): number => SIZE.left + index * step;
    const paths = series.map(({ colour, value }) => {
      const path = line<Row>()
        .x((_row, index) => x(index))
        .y((row) => y(value(row)))
        .curve(curveMonotoneX)
        .digits(1);
      return html`<path class="line series-${colour}" d="${path(rows)}" />`;
    });
    const column = (index: number) => ({ from: x(index) - step / 2, width: step });
    return html`${valueAxis(y)}${paths}${nameAxis(options, x)}${hoverRows(options, column)}`;
  });
}
