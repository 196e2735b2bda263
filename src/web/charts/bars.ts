import { scaleBand } from 'd3-scale';
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

/** A group of bars for each day, side by side. */
export function barsChart<Day extends { readonly day: string }>(options: ChartOptions<Day>): Html {
  const { days, series } = options;
  return figure(options, () => {
    const y = valueScale(Math.max(...days.flatMap((day) => series.map(({ value }) => value(day)))));
    const band = scaleBand<number>()
      .domain(days.map((_day, index) => index))
      .range([SIZE.left, SIZE.width - SIZE.right])
      .paddingInner(0.25);
    const left = (index: number): number => band(index) ?? 0;
    const width = Math.min(18, band.bandwidth() / series.length);
    // Bars of a few days keep to the middle of their day.
    const inset = (band.bandwidth() - width * series.length) / 2;
    const bars = series.map(({ colour, value }, nth) => {
      const path = days.map((day, index) => {
        const [from, top] = [left(index) + inset + nth * width, y(value(day))];
        return `M${round(from)},${round(y(0))}V${round(top)}h${round(width)}V${round(y(0))}z`;
      });
      return html`<path class="bar series-${colour}" d="${path.join('')}" />`;
    });
    const middle = (index: number): number => left(index) + band.bandwidth() / 2;
    const column = (index: number) => ({ from: left(index), width: band.step() });
    return html`${valueAxis(y)}${bars}${dayAxis(days, middle)}${hoverDays(days, series, column)}`;
  });
}
