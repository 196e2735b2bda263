import { thousands, duration } from '../../core/humanize.ts';
import { type Output, paint, printLine, wrapped } from '../../session/terminal.ts';
import type { KindLoad, Load } from '../../sync/planning/load/load.ts';
import { type ScheduleSettings, type Stretch, stretchOf } from '../../sync/planning/stretch.ts';
import { type Column, renderTable } from './table.ts';

/**
 * Prints each schedule with the requests that a pass costs and its next slots: three if the terminal is wide
 * enough. Then prints whether the schedules fit the day's budget. Of a new mirror the costs are unknown: only
 * the schedules are printed. The slots are in the time zone of the schedules.
 */
export function printLoad(output: Output, load: Load, settings: ScheduleSettings, now: number): void {
  const { timezone } = settings;
  const costs = ['lists', 'requests per run', 'per day'].map((title) => ({ title, align: 'right' as const }));
  const columns: Column[] = [
    { title: 'list' },
    { title: 'schedule' },
    { title: `next (${timezone})` },
    ...(load.isNew ? [] : costs),
  ];
  const tableOf = (slots: number): string =>
    renderTable(
      output,
      columns,
      load.kinds.map((kind) => [
        kind.list,
        kind.cron.expression,
        kind.next
          .slice(0, slots)
          .map((at) => wallClock(at, now, timezone))
          .join(', '),
        ...(load.isNew ? [] : costsOf(kind)),
      ]),
    );
  // A narrow terminal has no room for three slots.
  printLine(output, [3, 2].map(tableOf).find((table) => wrapped(output, table) === table) ?? tableOf(1));
  printLine(output, '');
  const followed = load.kinds.map(({ list, cron }) => ({ list, expression: cron.expression }));
  const stretch = stretchOf(followed, settings);
  const lines = [...verdict(output, load), ...(stretch === null ? [] : [`${stretchWords(stretch)}.`])];
  for (const line of lines) printLine(output, wrapped(output, line));
}

function costsOf({ lists, requestsPerPass, passesPerDay }: KindLoad): string[] {
  return [lists, requestsPerPass, Math.round(requestsPerPass * passesPerDay)].map(thousands);
}

function verdict(output: Output, load: Load): string[] {
  if (load.isNew)
    return [
      'The mirror is new: the first copy reads every list once, as fast as the limits allow. ' +
        'The cost of the schedules is known after it.' +
        (load.pages === null
          ? ''
          : ' All other requests then read single pages of conversations, all day long.'),
    ];
  const { kinds, wanted, available, complete } = load;
  const needed = thousands(Math.round(wanted));
  const sum = `${needed} requests a day of the ${thousands(available)} that scheduled work may use`;
  const unknown = complete
    ? []
    : ['Some lists were never read to their end; their cost is known after the first pass.'];
  if (wanted <= available && !complete)
    return [`As far as is known, the schedules need about ${sum}.`, ...unknown];
  if (wanted <= available) return [`The schedules need about ${sum}: they fit.`, ...pagesOf(load)];
  const ages = kinds.filter(({ worstAgeMs }) => worstAgeMs !== null).map(ageInWords);
  return [
    `${paint(output, 'yellow', 'The schedules do not fit:')} they need about ${sum}, ` +
      `${thousands(Math.round(wanted - available))} too many.`,
    `The greatest ages to expect: ${ages.join(', ')}.`,
    'Nothing breaks: the most urgent lists are read first. ' +
      'Longer intervals (SCHEDULE_…) are promises that the budget can keep.',
    ...(load.pages === null || load.pages.areWhole
      ? []
      : [
          'These ages are of lists that are read whole: conversations that are read page by page can ' +
            'become older.',
          'The schedules leave no request for the pages where most changes are expected. Without ' +
            'SCHEDULE_CONVERSATIONS every page is read once a day, and busy ones more often.',
        ]),
    ...unknown,
  ];
}

function pagesOf({ pages }: Load): string[] {
  if (pages === null) return [];
  const rest = thousands(Math.round(pages.requests));
  if (pages.areWhole)
    return [
      'No list of conversations can be read page by page now; `inbox-mirror plan` says why. ' +
        `The other ${rest} may read whole lists again.`,
    ];
  return [
    `The other ${rest} read single pages of conversations, where most changes are expected.`,
    ...(pages.days > 1 ? [`${coverWords(pages.days)}.`] : []),
  ];
}

/** Why one reading of every page takes several days, as a sentence without its full stop. */
export function coverWords(days: number): string {
  return (
    `One reading of every page of conversations is spread over ${days} days: one a day would take ` +
    'more than half of the budget'
  );
}

/** Why lists are read less often than by their defaults, as a sentence without its full stop. */
export function stretchWords({ lists, hours }: Stretch): string {
  const how = hours === 24 ? 'once a day' : `every ${hours} hours`;
  const names = lists.join(' and ');
  return `To read ${names} every 6 hours would take too much of the budget: they are read ${how}`;
}

function ageInWords({ list, worstAgeMs }: KindLoad): string {
  return `${list} ${duration(worstAgeMs ?? 0)} old`;
}

/** `14:20` for today, `2026-11-22 14:20` for another day, in the schedules' time zone. */
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
