import { area, curveMonotoneX } from 'd3-shape';
import { html, type Html } from '../frame/html.ts';
import { barsChart } from './bars.ts';
import { type ChartOptions, figure, hoverRows, nameAxis, SIZE, valueAxis, valueScale } from './frame.ts';

interface AreasOptions<Row> extends ChartOptions<Row> {
  /** False for a row that only keeps its place: the areas break there. By default every row has figures. */
  readonly hasFigures?: (row: Row) => boolean;
}

/** A row with figures, and its position on the axis: a row has the middle of its place. */
interface Point<Row> {
  readonly row: Row;
  readonly at: number;
}

/** Stacked areas, one for each series. The first series lies at the bottom. */
export function areasChart<Row>({ hasFigures = () => true, ...options }: AreasOptions<Row>): Html {
  const { rows, series } = options;
  // A single row has no width of its own.
  if (rows.length === 1) return barsChart(options);
  const runs = runsOf(rows, hasFigures);
  const drawn = runs.flat();
  const known = { ...options, rows: drawn.map(({ row }) => row) };
  return figure(known, () => {
    const total = (row: Row, upTo: number): number =>
      series.slice(0, upTo).reduce((sum, { value }) => sum + value(row), 0);
    const y = valueScale(Math.max(...known.rows.map((row) => total(row, series.length))));
    const width = SIZE.width - SIZE.left - SIZE.right;
    const step = width / (rows.length - 1);
    const x = (at: number): number => SIZE.left + Math.min(Math.max(at, 0), rows.length - 1) * step;
    const shapes = series.map(({ colour }, nth) => {
      const shape = area<Point<Row>>()
        .x(({ at }) => x(at))
        .y0(({ row }) => y(total(row, nth)))
        .y1(({ row }) => y(total(row, nth + 1)))
        .curve(curveMonotoneX)
        .digits(1);
      const path = runs.map((run) => shape(widened(run)));
      return html`<path class="area series-${colour}" d="${path.join('')}" />`;
    });
    const column = (nth: number) => ({ from: x(drawn[nth]?.at ?? 0) - step / 2, width: step });
    return html`${valueAxis(y)}${shapes}${nameAxis(options, x)}${hoverRows(known, column)}`;
  });
}

/** The rows with figures, in runs of neighbours. */
function runsOf<Row>(rows: readonly Row[], hasFigures: (row: Row) => boolean): Point<Row>[][] {
  const runs: Point<Row>[][] = [];
  for (const [at, row] of rows.entries()) {
    if (!hasFigures(row)) continue;
    const last = runs.at(-1);
    if (last?.at(-1)?.at === at - 1) last.push({ row, at });
    else runs.push([{ row, at }]);
  }
  return runs;
}

/** A row without neighbours has no width of its own: it gets half of its place. */
function widened<Row>(run: Point<Row>[]): Point<Row>[] {
  return run.length > 1
    ? run
    : run.flatMap(({ row, at }) => [-0.25, 0.25].map((by) => ({ row, at: at + by })));
}
