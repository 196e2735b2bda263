import type { Config } from '../config.ts';
import type { ListName } from '../core/lists.ts';
import { count, duration } from '../core/words.ts';
import type { Store } from '../store/store.ts';
import type { Cron } from '../sync/cron.ts';
import { type KindOutlook, type Outlook, outlookOf } from '../sync/outlook.ts';
import { type Output, paint, printLine } from './io.ts';
import { renderTable } from './table.ts';
import { wrapped } from './wrap.ts';

/** Prints what the daemon will do: each schedule with its next slots (three where there is room), what a pass costs, and whether all of it fits the day's budget. @returns what it told */
export async function printPlan(
  output: Output,
  store: Store,
  crons: Readonly<Record<ListName, Cron>>,
  config: Config,
  now: number,
): Promise<Outlook> {
  const outlook = await outlookOf(store, crons, config, now);
  const columns = [
    { title: 'list' },
    { title: 'schedule' },
    { title: `next (${config.timezone})` },
    { title: 'lists', align: 'right' as const },
    { title: 'requests a pass', align: 'right' as const },
    { title: 'a day', align: 'right' as const },
  ];
  const tableOf = (slots: number): string =>
    renderTable(
      output,
      columns,
      outlook.kinds.map((kind) => [
        kind.list,
        kind.cron.expression,
        kind.next
          .slice(0, slots)
          .map((at) => wallClock(at, now, config.timezone))
          .join(', '),
        count(kind.lists),
        count(kind.requestsPerPass),
        count(Math.round(kind.requestsPerPass * kind.passesPerDay)),
      ]),
    );
  // A narrow terminal has no room for three slots.
  printLine(output, [3, 2].map(tableOf).find((table) => wrapped(output, table) === table) ?? tableOf(1));
  printLine(output, '');
  for (const line of verdict(output, outlook)) printLine(output, wrapped(output, line));
  return outlook;
}

function verdict(output: Output, { kinds, wanted, available, complete }: Outlook): string[] {
  const sum = `${count(Math.round(wanted))} requests a day of the ${count(available)} that scheduled work may use`;
  const unknown = complete
    ? []
    : ['Some lists were never read to their end: what they cost is known after the first pass.'];
  if (wanted <= available && !complete)
    return [`As far as is known the schedules need about ${sum}.`, ...unknown];
  if (wanted <= available) return [`The schedules need about ${sum}: they fit.`];
  const ages = kinds.filter(({ worstAgeMs }) => worstAgeMs !== null).map(ageInWords);
  return [
    `${paint(output, 'yellow', 'The schedules do not fit:')} they need about ${sum}, ${count(Math.round(wanted - available))} too many.`,
    `What they will really give, at the worst: ${ages.join(', ')}.`,
    'Nothing breaks: what is most worth reading goes first. Longer intervals (SCHEDULE_…) make a promise that can be kept.',
    ...unknown,
  ];
}

function ageInWords({ list, worstAgeMs }: KindOutlook): string {
  return `${list} ${duration(worstAgeMs ?? 0)} old`;
}

/** `14:20` today, with its day otherwise, by the schedules' wall clock. */
function wallClock(at: number, now: number, timeZone: string): string {
  const day = (instant: number): string => new Intl.DateTimeFormat('en-CA', { timeZone }).format(instant);
  const time = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
    .format(at)
    .replace(/:00$/, '');
  return day(at) === day(now) ? time : `${day(at)} ${time}`;
}
