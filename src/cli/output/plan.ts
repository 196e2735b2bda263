import { HOUR, SECOND } from '../../core/clock.ts';
import { type GateState, judgeGate } from '../../core/gate-state.ts';
import { clockTime, duration, fromNow, plural, thousands, whenDue } from '../../core/humanize.ts';
import type { LostBookmarks } from '../../mirror/bookmarks/bookmarks.ts';
import type { OtherAccount } from '../../mirror/gate/account.ts';
import type { Outage } from '../../mirror/gate/outage.ts';
import type { SpentKind } from '../../mirror/gate/budget-use.ts';
import { asCell, type Output, wrapped } from '../../session/terminal.ts';
import { isTelling, type MeasuredDelay } from '../../status/delay.ts';
import { delayRecord, readingRecord } from '../../status/json.ts';
import { haltOf } from '../../status/sending.ts';
import { type SpentParts, spentParts } from '../../status/spent.ts';
import { SPARE_MS } from '../../sync/planning/agenda.ts';
import type { Load } from '../../sync/planning/load/load.ts';
import { LEAST_MISSED, type Outlook } from '../../sync/planning/pages/outlook.ts';
import { requestsWords } from './status/requests.ts';
import { type Column, renderTable } from './table.ts';

/** All that `plan` prints. */
export interface PlanReport {
  readonly now: number;
  readonly readsPages: boolean;
  readonly outlook: Outlook;
  readonly load: Load;
  /** When a list without single pages is read whole again, epoch ms; null: none is. */
  readonly walkAt: number | null;
  readonly delay: MeasuredDelay | null;
  readonly spent: readonly SpentKind[];
  readonly lost: readonly LostBookmarks[];
  readonly gate: GateState;
  readonly outage: Outage | null;
  readonly otherAccount: OtherAccount | null;
  readonly daemonRuns: boolean;
  /** The names of the inboxes by their ids. */
  readonly names: ReadonlyMap<string, string | null>;
}

/** The table has at most this many readings. */
const MOST_ROWS = 15;

/** The width of the words before each line. */
const HANGING = 10;

const WHY = { schedule: 'schedule', value: 'changes' } as const;

const LOST: Record<LostBookmarks['cause'], string> = {
  order: 'its ids are in no order',
  doubt: 'a page was not as expected',
  positions: 'its page tokens lead to other rows after a while',
  expiry: 'its page tokens expire',
};

/** The outlook as a table of the next readings, and a line for each other fact. */
export function planAsText(output: Output, report: PlanReport): string {
  const { now, outlook, lost, names } = report;
  const lines = [pagesLine(outlook, now)];
  if (!report.daemonRuns)
    lines.push('daemon    none runs: nothing of this is read until `inbox-mirror start`');
  const shut = haltOf(report);
  if (shut !== null) lines.push(`requests  ${requestsWords(output, shut, now)}: nothing is read before that`);
  if (outlook.pages > 0) lines.push(paceLine(outlook), scheduleLine(outlook), budgetLine(outlook));
  if (!report.load.isNew) lines.push(costLine(report.load));
  lines.push(delayLine(report.delay), spentLine(report.spent));
  for (const { inboxId, cause, lostAt } of lost) {
    const name = asCell(names.get(inboxId) ?? 'no name');
    lines.push(`whole     ${name} (${inboxId}), since ${fromNow(lostAt, now)}: ${LOST[cause]}`);
  }
  if (lost.length > 0 && report.walkAt !== null) lines.push(againLine(report.walkAt, now));
  return `${nextTable(output, report)}\n\n${wrapped(output, lines.join('\n'), HANGING)}`;
}

function againLine(walkAt: number, now: number): string {
  const first = `the first of them ${whenDue(new Date(walkAt), now)}`;
  const each = `each of them every ${duration(SPARE_MS)}`;
  const limits = 'if the pace allows and all were read since their slot, and less often after a failed walk';
  return `again     ${first}; ${each} ${limits}`;
}

function nextTable(output: Output, report: PlanReport): string {
  const { now, outlook, lost, names, readsPages } = report;
  const say = (sentence: string): string => wrapped(output, sentence);
  if (!readsPages) return say('READ_PAGES=off: only whole lists are read, by their schedules.');
  if (outlook.pages === 0 && lost.length > 0)
    return say('No page can be read singly now: the lines that begin with "whole" say why.');
  if (outlook.pages === 0) return say('No page can be read singly yet: a first complete sweep finds out.');
  if (outlook.next.length === 0 && outlook.spentUntil !== null && haltOf(report) === null) {
    const until = `${clockTime(outlook.spentUntil, now, 'UTC')}, ${whenDue(outlook.spentUntil, now)}`;
    return say(`No page is read in the next hour: the day's budget is spent until ${until}.`);
  }
  if (outlook.next.length === 0) return 'No page is read in the next hour.';
  const columns: Column[] = [
    { title: 'in' },
    { title: 'inbox' },
    { title: 'page', align: 'right' },
    { title: 'unread for', align: 'right' },
    { title: 'rows to expect', align: 'right' },
    { title: 'why' },
  ];
  const rows = outlook.next
    .slice(0, MOST_ROWS)
    .map((reading) => [
      duration(reading.at - now),
      nameOf(reading.inboxId, names),
      `${reading.page} of ${reading.pages}`,
      duration(reading.ageMs),
      reading.expected.toFixed(2),
      WHY[reading.why],
    ]);
  const all = `${plural(outlook.inAnHour, 'page')} in the next hour`;
  const reads = report.daemonRuns ? `The daemon reads ${all}` : `A daemon would read ${all}`;
  const first = outlook.next.length > MOST_ROWS ? `. These are the first ${MOST_ROWS}` : '';
  const head = say(`${reads}${first}; page 1 holds the newest conversations.`);
  return `${head}\n\n${renderTable(output, columns, rows)}`;
}

/** The inbox's name; with its id if another inbox has the same name. */
function nameOf(inboxId: string, names: ReadonlyMap<string, string | null>): string {
  const name = names.get(inboxId) ?? null;
  const isUnique = name !== null && [...names.values()].filter((other) => other === name).length === 1;
  return isUnique ? asCell(name) : `${asCell(name ?? 'no name')} (${inboxId})`;
}

function pagesLine(outlook: Outlook, now: number): string {
  return `pages     ${outlook.pages === 0 ? 'none' : pagesWords(outlook, now)}`;
}

/** How current the pages are that are read singly, for people. `now` is epoch ms. */
export function pagesWords(
  { pages, rows, current, oldestReading }: Pick<Outlook, 'pages' | 'rows' | 'current' | 'oldestReading'>,
  now: number,
): string {
  const oldest = fromNow(oldestReading === null ? null : new Date(oldestReading), now);
  // Not all, as long as one may have changed.
  const share = `${(Math.floor(1000 * current) / 10).toFixed(1)} %`;
  return (
    `${plural(pages, 'page')} with ${plural(rows, 'conversation')} in all; ${share} of them are probably ` +
    `as the service has them; the oldest was read ${oldest}`
  );
}

function paceLine({ anHour, missed }: Outlook): string {
  const pace = plural(Math.round(anHour), 'request');
  const first = missed < LEAST_MISSED ? '' : `; ${missedWords(missed)}`;
  return `pace      ${pace} an hour${anHour < 1 ? '' : `, one in about ${duration(HOUR / anHour)}`}${first}`;
}

/** Requests that a restart or an outage left to make up, for people. */
export function missedWords(missed: number): string {
  return `${plural(Math.floor(missed), 'missed request')} sent first`;
}

function scheduleLine({ cover }: Outlook): string {
  const { requests, days, aDay } = cover;
  const times = aDay === 1 ? 'once a day' : `${Math.round(10 * aDay) / 10} times a day`;
  const spread = days > 1 ? `spread over ${days} days` : times;
  return `schedule  one reading of every page costs ${plural(requests, 'request')}, ${spread}`;
}

/** The requests that the schedules of each kind of list need in a day. */
function costLine({ kinds, wanted, available }: Load): string {
  const parts = kinds.map(({ list, requestsPerPass, passesPerDay }) => {
    return `${list} ${thousands(Math.round(requestsPerPass * passesPerDay))}`;
  });
  const sum = plural(Math.round(wanted), 'request');
  return (
    `cost      the schedules need ${sum} a day of the ${thousands(available)} that scheduled work may use: ` +
    parts.join(', ')
  );
}

function budgetLine({ delays }: Outlook): string {
  const words = delays.map(({ factor, ms }) => {
    const times =
      factor === 1 ? 'this budget' : factor === 0.5 ? 'half of this budget' : `${factor} times as much`;
    return `${ms === null ? 'an unknown time' : duration(ms)} with ${times}`;
  });
  return `budget    a change probably waits, on average, ${words.join(', ')}`;
}

function delayLine(delay: MeasuredDelay | null): string {
  return delay === null ? 'measured  no change was seen in the last 24 h' : `measured  ${delayWords(delay)}`;
}

/** How late changes were seen, for people. */
export function delayWords(delay: MeasuredDelay): string {
  const seen = isTelling(delay)
    ? `half were seen within ${duration(delay.medianMs)}, 95 % within ${duration(delay.p95Ms)}`
    : 'too few changes yet to tell how late they are seen';
  return `${plural(delay.changes, 'change')} in the last 24 h: ${seen}`;
}

function spentLine(spent: readonly SpentKind[]): string {
  if (spent.length === 0) return 'spent     no request in the last 24 h';
  return `spent     requests of the last 24 h: ${spentWords(spentParts(spent))}`;
}

/** The requests by their purpose, in words. */
export function spentWords({ wholeLists, singlePages, lookups, commands }: SpentParts): string {
  const parts = [
    `whole lists ${thousands(wholeLists)}`,
    `single pages ${thousands(singlePages)}`,
    `questions about rows ${thousands(lookups)}`,
    `by command ${thousands(commands)}`,
  ];
  return parts.join(', ');
}

/** Requests of whole lists by their kind, of single pages, of suspects, and of commands. Most first. */
function spentRecords(spent: readonly SpentKind[]): { what: string; requests: number }[] {
  const records = [...Map.groupBy(spent, whatFor)].map(([what, kinds]) => {
    return { what, requests: kinds.reduce((sum, { requests }) => sum + requests, 0) };
  });
  return records.toSorted((a, b) => b.requests - a.requests);
}

function whatFor({ reason, list }: SpentKind): string {
  if (reason === 'schedule') return list ?? reason;
  return { page: 'single pages', probe: 'suspects', manual: 'manual', resync: 'resync' }[reason];
}

/** The text of `plan --json` (docs/commands.md). Fields may be added, never renamed. */
export function planAsJson(report: PlanReport): string {
  const { now, outlook, delay, spent, lost, readsPages } = report;
  const record = {
    generated_at: new Date(now).toISOString(),
    gate: judgeGate(report.gate, now).word,
    daemon_runs: report.daemonRuns,
    reads_pages: readsPages,
    pages: outlook.pages,
    rows: outlook.rows,
    current_share: outlook.current,
    oldest_reading: outlook.oldestReading === null ? null : new Date(outlook.oldestReading).toISOString(),
    requests_next_hour: outlook.anHour + outlook.missed,
    requests_missed: outlook.missed,
    next: outlook.next.map((reading) => readingRecord(reading)),
    cover: {
      requests: outlook.cover.requests,
      days: outlook.cover.days,
      readings_per_day: outlook.cover.aDay,
    },
    schedules: report.load.kinds.map(({ list, lists, requestsPerPass, passesPerDay }) => ({
      list,
      lists,
      requests_per_run: requestsPerPass,
      requests_per_day: requestsPerPass * passesPerDay,
    })),
    delay_by_budget: outlook.delays.map(({ factor, ms }) => ({
      factor,
      seconds: ms === null ? null : Math.round(ms / SECOND),
    })),
    measured_delay: delay === null ? null : delayRecord(delay),
    spent: spentRecords(spent),
    read_whole: lost.map(({ inboxId, lostAt, cause }) => ({
      inbox_id: inboxId,
      since: lostAt.toISOString(),
      cause,
    })),
  };
  return JSON.stringify(record, null, 2);
}
