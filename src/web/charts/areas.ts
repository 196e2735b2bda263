import { area, curveMonotoneX } from 'd3-shape';
import { html, type Html } from '../frame/html.ts';
import { barsChart } from './bars.ts';
import { type ChartOptions, figure, hoverRows, nameAxis, SIZE, valueAxis, valueScale } from './frame.ts';

/** Stacked areas, one for each series. The first series lies at the bottom. */
export function areasChart<Row>(options: ChartOptions<Row>): Html {
  const { rows, series } = options;
  // A single row has no width of its own.
  if (rows.length === 1) return barsChart(options);
  return figure(options, () => {
    const total = (row: Row, upTo: number): number =>
      series.slice(0, upTo).reduce((sum, { value }) => sum + value(row), 0);
    const y = valueScale(Math.max(...rows.map((row) => total(row, series.length))));
    const width = SIZE.width - SIZE.left - SIZE.right;
    const step = width / (rows.length - 1);
    const x = (index: number): number => SIZE.left + index * step;
    const shapes = series.map(({ colour }, nth) => {
      const shape = area<Row>()
        .x((_row, index) => x(index))
        .y0((row) => y(total(row, nth)))
        .y1((row) => y(total(row, nth + 1)))
        .curve(curveMonotoneX)
        .digits(1);
      return html`<path class="area series-${colour}" d="${shape(rows)}" />`;
    });
    const column = (index: number) => ({ from: x(index) - step / 2, width: step });
    return html`${valueAxis(y)}${shapes}${nameAxis(options, x)}${hoverRows(options, column)}`;
  });
}
