import { DAY } from '../../core/clock.ts';
import type { BacklogDay, FlowDay } from '../../query/figures/backlog.ts';
import type { Counted } from '../frame/desk.ts';
import type { FirstCopy } from '../../query/reads/ages.ts';
import { html, type Html } from '../frame/html.ts';
import { dayBefore, daysFrom, dayWords, type Moment } from '../frame/words.ts';
import { areasChart } from './areas.ts';
import { barsChart } from './bars.ts';
import { countedSection } from './counted.ts';

/** Days in the chart of the backlog, and in that of new and closed ones, whose bars would become too thin. */
export const DAYS = 90;
const BAR_DAYS = 45;

const OF_DAYS = { unit: 'Day', label: ({ day }: { readonly day: string }) => dayWords(day) };

type Backlog = Omit<BacklogDay, 'day'>;

/** The days without today, and today as it is now: the figures beside the chart say the same. */
function upToNow(days: readonly BacklogDay[], now: Backlog | null, moment: Moment): readonly BacklogDay[] {
  const today = dayBefore(moment, 0);
  if (now === null || days.length === 0) return days;
  return [...days.filter(({ day }) => day < today), { day: today, open: now.open, pending: now.pending }];
}

interface PlacedDay {
  readonly day: string;
  /** Null: the inbox was gone. */
  readonly backlog: Backlog | null;
}

/** All days from the first to the last one. */
function placed(days: readonly BacklogDay[]): PlacedDay[] {
  const byDay = new Map(days.map((backlog) => [backlog.day, backlog]));
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return [];
  const many = (Date.parse(last.day) - Date.parse(first.day)) / DAY + 1;
  return daysFrom(first.day, many).map((day) => ({ day, backlog: byDay.get(day) ?? null }));
}

/**
 * The charts of the backlog and of the flow.
 * @param history null: they are being counted @param now the backlog of this moment; null: there is none
 */
export function historySections(
  history: Counted<{ readonly backlog: readonly BacklogDay[]; readonly flow: readonly FlowDay[] }> | null,
  now: Backlog | null,
  moment: Moment,
  copy: FirstCopy | null,
): Html {
  const remark = 'A conversation that was closed when first seen counts in neither.';
  const backlog = countedSection(`Backlog, ${DAYS} days`, history, { moment, copy }, (result) =>
    backlogChart(upToNow(result.backlog, now, moment)),
  );
  const flow = countedSection('New and closed a day', history, { moment, copy, remark }, (result) =>
    flowChart(result.flow),
  );
  return html`${backlog}${flow}`;
}

const EMPTY = 'No day is complete yet: the first figure appears after the first whole copy.';

function backlogChart(days: readonly BacklogDay[]): Html {
  return areasChart<PlacedDay>({
    title: `Backlog over ${DAYS} days`,
    rows: placed(days),
    hasFigures: ({ backlog }) => backlog !== null,
    ...OF_DAYS,
    series: [
      { name: 'Open', colour: 'open', value: ({ backlog }) => backlog?.open ?? 0 },
      { name: 'Pending', colour: 'pending', value: ({ backlog }) => backlog?.pending ?? 0 },
    ],
    empty: EMPTY,
  });
}

function flowChart(days: readonly FlowDay[]): Html {
  return barsChart<FlowDay>({
    title: `New and closed conversations a day over ${BAR_DAYS} days`,
    rows: days.slice(-BAR_DAYS),
    ...OF_DAYS,
    series: [
      {
        name: 'Came open or reopened',
        colour: 'appeared',
        value: ({ came_open: came, reopened }) => came + reopened,
      },
      { name: 'Closed', colour: 'closed', value: ({ closed }) => closed },
    ],
    empty: EMPTY,
  });
}
