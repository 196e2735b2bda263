import type { BacklogDay, FlowDay } from '../../query/figures/backlog.ts';
import type { Counted } from '../frame/desk.ts';
import type { FirstCopy } from '../../query/reads/ages.ts';
import { noteOf } from '../frame/copy.ts';
import { html, type Html } from '../frame/html.ts';
import { section } from '../frame/layout.ts';
import { ago, dayBefore, dayWords, type Moment } from '../frame/words.ts';
import { areasChart } from './areas.ts';
import { barsChart } from './bars.ts';

/** Days in the chart of the backlog, and in that of new and closed ones, whose bars would become too thin. */
export const DAYS = 90;
const BAR_DAYS = 45;

const OF_DAYS = { unit: 'Day', label: ({ day }: { readonly day: string }) => dayWords(day) };

/** The days without today, and today as it is now: the figures beside the chart say the same. */
function upToNow(
  days: readonly BacklogDay[],
  now: Omit<BacklogDay, 'day'> | null,
  moment: Moment,
): readonly BacklogDay[] {
  const today = dayBefore(moment, 0);
  if (now === null || days.length === 0) return days;
  return [...days.filter(({ day }) => day < today), { day: today, open: now.open, pending: now.pending }];
}

/**
 * The charts of the backlog and of the flow.
 * @param history null: they are being counted @param now the backlog of this moment; null: there is none
 */
export function historySections(
  history: Counted<{ readonly backlog: readonly BacklogDay[]; readonly flow: readonly FlowDay[] }> | null,
  now: Omit<BacklogDay, 'day'> | null,
  moment: Moment,
  copy: FirstCopy | null,
): Html {
  if (history === null) {
    const counting = html`<p class="empty counting">
      The history is being counted. This page shows it in a moment.
    </p>`;
    return html`${section(`Backlog, ${DAYS} days`, counting)}${section('New and closed a day', counting)}`;
  }
  const { result, at } = history;
  const counted = html`Counted ${ago(new Date(at), moment)}.`;
  const note = noteOf(copy, counted);
  const unseen = 'A conversation that was closed when first seen counts in neither.';
  const empty = 'No day is complete yet: the first figure appears after the first whole copy.';
  const backlog = areasChart<BacklogDay>({
    title: `Backlog over ${DAYS} days`,
    rows: upToNow(result.backlog, now, moment),
    ...OF_DAYS,
    series: [
      { name: 'Open', colour: 'open', value: ({ open }) => open },
      { name: 'Pending', colour: 'pending', value: ({ pending }) => pending },
    ],
    empty,
  });
  const flow = barsChart<FlowDay>({
    title: `New and closed conversations a day over ${BAR_DAYS} days`,
    rows: result.flow.slice(-BAR_DAYS),
    ...OF_DAYS,
    series: [
      {
        name: 'Came open or reopened',
        colour: 'appeared',
        value: ({ came_open: came, reopened }) => came + reopened,
      },
      { name: 'Closed', colour: 'closed', value: ({ closed }) => closed },
    ],
    empty,
  });
  return html`${section(`Backlog, ${DAYS} days`, backlog, { note })}
  ${section('New and closed a day', flow, { note: noteOf(copy, html`${counted} ${unseen}`) })}`;
}
