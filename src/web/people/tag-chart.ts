import type { TagDay } from '../../query/figures/people.ts';
import { linesChart } from '../charts/lines.ts';
import type { FirstCopy } from '../../query/reads/ages.ts';
import { emptyOf } from '../frame/first-copy.ts';
import type { Html } from '../frame/html.ts';
import { daysFrom, dayWords } from '../frame/words.ts';

/** Days in the chart of tags. */
export const DAYS = 60;

const COLOURS = ['open', 'pending', 'closed', 'plain', 'fifth'] as const;

interface Day {
  readonly day: string;
  readonly added: ReadonlyMap<string, number>;
}

/**
 * How often conversations got, or came with, each of the busiest tags on each day.
 * @param since the first day, such as `2026-03-02`
 */
export function tagChart(found: readonly TagDay[], since: string, copy: FirstCopy | null): Html {
  const totals = new Map<string, number>();
  for (const { tag, added } of found) totals.set(tag, (totals.get(tag) ?? 0) + added);
  const tags = [...totals].sort(([, a], [, b]) => b - a).map(([tag]) => tag);
  const byDay = Map.groupBy(found, ({ day }) => day);
  // A day from before the mirror has no figure: a zero would say that no tag was given.
  const first = found[0]?.first_day ?? since;
  const days = daysFrom(since, DAYS)
    .filter((day) => day >= first)
    .map((day): Day => {
      return { day, added: new Map(byDay.get(day)?.map(({ tag, added }) => [tag, added])) };
    });
  return linesChart<Day>({
    title: `Tags given a day over ${DAYS} days`,
    rows: tags.length === 0 ? [] : days,
    unit: 'Day',
    label: ({ day }) => dayWords(day),
    series: COLOURS.slice(0, tags.length).map((colour, nth) => ({
      name: tags[nth] ?? '',
      colour,
      value: ({ added }) => added.get(tags[nth] ?? '') ?? 0,
    })),
    empty: emptyOf(copy, `No conversation got a tag or appeared with one in the last ${DAYS} days.`),
  });
}
