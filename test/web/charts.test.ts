import { expect, test } from 'vitest';
import { areasChart } from '../../src/web/charts/areas.ts';
import { dayWords } from '../../src/web/frame/words.ts';
import { linesChart } from '../../src/web/charts/lines.ts';
import { barsChart } from '../../src/web/charts/bars.ts';

interface Day {
  readonly day: string;
  readonly n: number;
}

const series = [{ name: 'Open', colour: 'open', value: ({ n }: Day) => n }] as const;
const OF_DAYS = { unit: 'Day', label: ({ day }: Day) => dayWords(day) };
const days: Day[] = Array.from({ length: 30 }, (_, index) => ({
  day: `2026-03-${String(index + 1).padStart(2, '0')}`,
  n: index * 40,
}));

test.each([
  ['areas', areasChart<Day>],
  ['bars', barsChart<Day>],
  ['lines', linesChart<Day>],
])('a chart of %s has a title, a scale, and its numbers in a table', (_kind, chart) => {
  const drawn = String(chart({ title: 'Backlog', rows: days, ...OF_DAYS, series, empty: 'No days.' }));
  expect(drawn).toContain('aria-label="Backlog; the table below has the numbers"');
  expect(drawn).toMatch(/>1,000<\/text/);
  expect(drawn).toContain('30 Mar: Open 1,160</title');
  expect(drawn).toMatch(/<td >30 Mar<\/td>\s*<td class="n">1,160<\/td>/);
  expect(drawn.match(/ Mar<\/text/g), 'not every name has room').toHaveLength(4);
  const few = String(chart({ title: 'Backlog', rows: days.slice(0, 6), ...OF_DAYS, series, empty: '' }));
  expect(few.match(/ Mar<\/text/g)).toHaveLength(6);
  expect(drawn, 'no coordinate is lost').not.toMatch(/NaN|Infinity|undefined/);
});

test.each([
  ['areas', areasChart<Day>],
  ['bars', barsChart<Day>],
  ['lines', linesChart<Day>],
])('a chart of %s shows one day, and days without any conversation', (_kind, chart) => {
  for (const few of [days.slice(3, 4), [{ day: '2026-03-01', n: 0 }]])
    expect(String(chart({ title: 'Backlog', rows: few, ...OF_DAYS, series, empty: 'No days.' }))).not.toMatch(
      /NaN|Infinity|undefined/,
    );
  const one = chart({ title: 'Backlog', rows: days.slice(3, 4), ...OF_DAYS, series, empty: 'No days.' });
  expect(String(one), 'one day is a bar, not an area').toMatch(/class="bar series-open"/);
  expect(String(chart({ title: 'Backlog', rows: [], ...OF_DAYS, series, empty: 'No days.' }))).toContain(
    'No days.',
  );
});

test('areas break at days without figures, which keep their places, and a lone day has a width', () => {
  const week = days.slice(0, 7);
  const known = new Set(['2026-03-01', '2026-03-02', '2026-03-05', '2026-03-07']);
  const drawn = String(
    areasChart({
      title: 'Backlog',
      rows: week,
      ...OF_DAYS,
      series,
      hasFigures: ({ day }) => known.has(day),
      empty: '',
    }),
  );
  const [, path = ''] = /class="area series-open" d="([^"]*)"/.exec(drawn) ?? [];
  const widths = path
    .split('Z')
    .slice(0, -1)
    .map((part) => {
      const xs = Array.from(part.matchAll(/(-?[\d.]+),-?[\d.]+/g), ([, x]) => Number(x));
      return [Math.min(...xs), Math.max(...xs)].map(Math.round);
    });
  expect(widths).toEqual([
    [52, 135],
    [365, 406],
    [531, 552],
  ]);
  expect([...drawn.matchAll(/<title>(\d+ Mar)/g)].map(([, day]) => day)).toEqual(
    ['1', '2', '5', '7'].map((day) => `${day} Mar`),
  );
  expect(drawn.match(/ Mar<\/text/g), 'the axis names all days').toHaveLength(7);
  expect(drawn, 'the table has the days with figures').not.toMatch(/<td >3 Mar/);
  expect(drawn, 'no coordinate is lost').not.toMatch(/NaN|Infinity|undefined/);
});
