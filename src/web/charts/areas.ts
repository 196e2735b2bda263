import { area, curveMonotoneX } from 'd3-shape';
import { html, type Html } from '../frame/html.ts';
import {
  type ChartOptions,
  dayAxis,
  figure,
  hoverDays,
  round,
  SIZE,
  valueAxis,
  valueScale,
} from './frame.ts';

/** Stacked areas, one for each series, over days. The first series lies at the bottom. */
export function areasChart<Day extends { readonly day: string }>(options: ChartOptions<Day>): Html {
  const { days, series } = options;
  return figure(options, () => {
    const total = (day: Day, upTo: number): number =>
      series.slice(0, upTo).reduce((sum, { value }) => sum + value(day), 0);
    const y = valueScale(Math.max(...days.map((day) => total(day, series.length))));
    const width = SIZE.width - SIZE.left - SIZE.right;
    const step = width / Math.max(1, days.length - 1);
    const x = (index: number): number => SIZE.left + (days.length === 1 ? width : index * step);
    const shapes = series.map(({ colour }, nth) => {
      const shape = area<Day>()
        .x((_day, index) => x(index))
        .y0((day) => y(total(day, nth)))
        .y1((day) => y(total(day, nth + 1)))
        .curve(curveMonotoneX)
        .digits(1);
      // A single day has no width.
      const shown =
        days.length === 1
          ? shape.x((_day, index) => SIZE.left + index * width)([days[0]!, days[0]!])
          : shape(days);
      return html`<path class="area series-${colour}" d="${shown}" />`;
    });
    const column = (index: number) => ({
      from: round(x(index) - step / 2),
      width: days.length === 1 ? width : step,
    });
    return html`${valueAxis(y)}${shapes}${dayAxis(days, x)}${hoverDays(days, series, column)}`;
  });
}
