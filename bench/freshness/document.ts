import { plural, thousands } from '../../src/core/humanize.ts';
import { byAccount, COLUMNS, percent, PLANNER, type Report } from './report.ts';
import { markdown, show } from '../figures.ts';

/** The aims of an account in minutes; null: no aim. */
const AIMS: Readonly<Record<string, { mean: number; median: number | null; p95: number | null }>> = {
  S: { mean: 3, median: null, p95: 8 },
  M: { mean: 30, median: 12, p95: null },
  L: { mean: 190, median: 70, p95: null },
};

/** The mean delay may be this many times the bound. */
const TIMES_BOUND = 1.3;

/**
 * `docs/freshness.md`: the results, and how they are measured.
 * @param reports the later ones of an account add a line for their seeds
 */
export function documentOf(reports: readonly Report[]): string {
  const accounts = byAccount(reports);
  return [
    HEAD,
    ...accounts.map((ofOne) => sectionOf(ofOne[0]) + seedsOf(ofOne)),
    '## The accounts\n',
    factsTable(accounts.map(([first]) => first)),
    ACCOUNTS_TEXT,
    POLICIES_TEXT,
    BOUND_TEXT,
    commandsOf(reports),
  ].join('\n');
}

function sectionOf(report: Report): string {
  const { account, results, seeds, warm, days, bound } = report;
  const changes = results[0]?.changes ?? 0;
  const columns = COLUMNS.filter(({ title }) => title !== 'unread');
  return [
    `## Account ${account.name}\n`,
    `- ${account.inboxes} inboxes, ${thousands(account.conversations)} conversations, ` +
      `${thousands(account.newADay)} new on a working day`,
    `- ${plural(days, 'measured day')} after ${plural(warm, 'day')} that do not count; ` +
      `${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(', ')}; ${thousands(changes)} changes`,
    `- the bound D\\*: ${show(bound)} minutes\n`,
    markdown([
      columns.map(({ title }) => title),
      ...results.map((result) => columns.map((column) => column.of(result))),
    ]),
    '',
    aimsOf(report),
  ].join('\n');
}

/** The planner's delays with other seeds, in a table; empty if there is one report. */
function seedsOf(reports: readonly Report[]): string {
  if (reports.length === 1) return '';
  const rows = reports.map(({ seeds, bound, results }) => {
    const { mean, median, p95 } = results.find(({ policy }) => policy === PLANNER)!;
    return [seeds.join(', '), ...[bound, mean, median, p95, mean / bound].map(show)];
  });
  return [
    '\nThe planner with other seeds, which are other accounts of this size:\n',
    markdown([['seed', 'D\\*', 'mean', 'median', '95 %', 'mean / D\\*'], ...rows]),
    '',
  ].join('\n');
}

/** Compares the planner's delays with the aims. */
function aimsOf({ account, results, bound }: Report): string {
  const planner = results.find(({ policy }) => policy === PLANNER);
  const aims = AIMS[account.name];
  if (planner === undefined || aims === undefined) return '';
  const lines = (['mean', 'median', 'p95'] as const).flatMap((name) => {
    const aim = aims[name];
    return aim === null ? [] : [verdict(name === 'p95' ? '95 %' : name, planner[name], aim, ' min')];
  });
  lines.push(verdict('mean / D\\*', planner.mean / bound, TIMES_BOUND, ''));
  return ['Aims for the planner:\n', ...lines.map((line) => `- ${line}`), ''].join('\n');
}

function verdict(name: string, is: number, atMost: number, unit: string): string {
  return `${name} ${show(is)}${unit}, at most ${atMost}${unit}: ${is <= atMost ? 'reached' : 'missed'}`;
}

function factsTable(reports: readonly Report[]): string {
  const rows: readonly (readonly [string, string, (report: Report) => string])[] = [
    ['changes on a working day', '-', ({ facts }) => thousands(Math.round(facts.changesADay))],
    ['gaps in a conversation under 15 min', '57 %', ({ facts }) => percent(facts.shortGaps)],
    ['changes in the newest 100 rows', '39 %', ({ facts }) => percent(facts.newest100)],
    ['changes in the newest 5 %', '88 %', ({ facts }) => percent(facts.newest5Percent)],
    ['a day of the weekend / a working day', '2 %', ({ facts }) => percent(facts.weekend)],
    ['Fano factor of the hourly counts', '14.7', ({ facts }) => facts.fano.toFixed(1)],
  ];
  return markdown([
    ['Measured from the trace', 'Aim', ...reports.map(({ account }) => account.name)],
    ...rows.map(([name, aim, of]) => [name, aim, ...reports.map(of)]),
  ]);
}

const HEAD = `# How far the mirror lies behind

\`npm run bench:freshness -- --write\` writes this page and its plot. The delay of a change runs from the
change at the service until the mirror reads its row again. All figures are of virtual time, so they do not
depend on the machine. The limits are one request a second and 5,000 requests in any 24 hours, of which
scheduled work leaves 250 to people.

![Delays of each policy, by account](freshness.svg)

Delays are in minutes. *current* is the share of rows whose state the mirror has, on average over time. *a
day* counts requests. *least h* and *most h* are the hours with the fewest and the most requests, as
multiples of the mean hour. *429* counts requests that the service refused, *over cap* requests beyond the
cap in any 24 hours; both are counted at the sandbox, over the whole run.
`;

const ACCOUNTS_TEXT = `
The account is invented, and the same seed invents the same one. A conversation has an opening and, on
average, 2.2 later sessions. A session is a geometric number of changes with exponential gaps of 6 minutes.
Rests between sessions are lognormal; their median depends on the account, so that most conversations end
within the newest 5 % of their list. People work on weekdays from 8:00 to 18:00 with a bell around 13:00.
In a bulk action one person handles 15 to 40 waiting conversations of an inbox within ten minutes. Single
changes of older rows, anywhere in their list, bring the share of older rows to 12 %. The first inbox is the
largest; the second is half as large and half as busy.

The aims come from logs of single lists. Lists of fewer than 2,000 rows cannot meet two of them together:
their newest 100 rows are more than their newest 5 %. All inboxes of S but one, and 12 of
20 of M, are such lists. The aim of 88 % was kept, so the share of the newest 100 rows is above its aim.
`;

const POLICIES_TEXT = `## The policies

All run on the same trace. The planner is the daemon with its planner, pacer, gate and an SQLite mirror,
against the sandbox. It also reads the lists of inboxes, users and tags, first fills its mirror, and begins
without anything learned. The other policies are simulated at the level of requests: they begin with a
complete mirror, and each of their 4,750 requests a day reads conversations.

- *Whole lists, as fast as allowed*: all lists every 15 minutes, one page a second, until the day's budget
  is gone.
- *Whole lists, paced*: one list after the other at an even pace, the list in which most waits first.
- *Newest pages and a daily walk*: one walk over all pages a day; all other requests read the newest 100
  rows of the inboxes in turn.
- *Pages without learning*: half of the requests read the page that was read longest ago, half the growing
  ends of the inboxes in turn.
- *Pages with known rates*: the planner's index and pace with the rates of the bound in place of learned ones.
  It does not know of bursts, so a planner can be better.
`;

const BOUND_TEXT = `## The bound

    D* = Σ_d (∫_d Σ_p √λ_p(t) dt)² / B_d ÷ (2 ∫ Σ_p λ_p(t) dt)

No policy that knows the rates λ_p(t) of all pages p, but not the changes themselves, has a smaller mean
delay, if changes come independently and B_d requests read conversations on day d. Reading page p at the
rate r_p(t) costs λ_p / 2 r_p, and by the inequality of Cauchy and Schwarz the least cost has r_p in
proportion to √λ_p. Here a page costs one request, and B_d = 4,750.

The rates are estimated from the trace's four weeks, as a product. One factor is the inbox and the distance
of the page from the newest one: distances 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, 16-23, 24-31 and all beyond
share a rate each. The other factor is the hour of the day, for working days and weekends apart. The bound
spends no request in hours without changes. The planner does: its profile is learned, no hour gets less than
a tenth of the mean, and other lists cost requests too. On the other hand real changes come in bursts, so a
change that was seen tells of the next one: a planner may in principle be better than the bound.

The bound is exact where a page is read many times in an hour. A page that is read a few times a day would
have to be read right after the day's last change, and so would thousands of others: the bound does not count
that they share one request a second. *Pages with known rates* shows what an index can reach there. The hours
also have limits of their own: none gets less than a tenth or more than three times the mean. In a trial
that is not part of the command, a simulation of L with known rates and without these limits, the least mean
delay was 97 minutes, 1.32 times D\\*: with 3,400 of a day's requests between 17:00 and 19:00.
`;

function commandsOf(reports: readonly Report[]): string {
  const fileOf = ({ account, seeds }: Report): string => `${account.name}-${seeds.join('-')}.json`;
  const lines = reports.map(
    (report) =>
      `    npm run bench:freshness -- --accounts ${report.account.name} --seeds ${report.seeds.join(',')}` +
      ` --warm ${report.warm} --days ${report.days} --json > ${fileOf(report)}`,
  );
  const files = reports.map(fileOf).join(',');
  const last = `    npm run bench:freshness -- --from ${files} --write`;
  return [
    '## The commands\n',
    ...lines,
    last,
    '',
    `Written on ${new Date().toISOString().slice(0, 10)}.\n`,
  ].join('\n');
}
