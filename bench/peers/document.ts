import { thousands } from '../../src/core/humanize.ts';
import { aligned, markdown, show, sum } from '../figures.ts';
import type { Delay, DelayPlan } from './delay.ts';
import { description, HEAD, PEERS } from './texts.ts';
import type { First, Killed, Truncated } from './trials.ts';

/** All that was measured of one peer. */
export interface Result {
  readonly name: string;
  readonly versions: string;
  readonly storage: string;
  readonly first: First;
  readonly killed: Killed;
  /** The peer's, then its variant's. */
  readonly truncated: readonly Truncated[];
  readonly delay: Delay;
}

export interface Report {
  readonly date: string;
  readonly machine: string;
  /** How long the measurement took. */
  readonly minutes: number;
  readonly plan: DelayPlan;
  /** Requests of one reading of the whole account. */
  readonly pages: number;
  readonly conversations: readonly number[];
  readonly results: readonly Result[];
}

type Line = readonly [title: string, of: (result: Result) => string];

const FIRST: readonly Line[] = [
  ['time to a full copy, s', ({ first }) => show(first.run.seconds)],
  ['requests that arrived', ({ first }) => thousands(first.requests)],
  ['of them refused with 429', ({ first }) => thousands(first.refused)],
  ['rows missing or wrong', ({ first }) => thousands(first.wrong)],
  ['CPU, s', ({ first }) => show(first.run.cpuSeconds)],
  ['peak memory, MB', ({ first }) => show(first.run.peakRssMb)],
];

const DELAY: readonly Line[] = [
  ['changes that reached the copy', ({ delay }) => `${delay.seen} of ${delay.changes}`],
  ['their mean delay, s', ({ delay }) => secondsOf(delay.meanSeconds)],
  ['their longest delay, s', ({ delay }) => secondsOf(delay.longestSeconds)],
  ['requests that arrived', ({ delay }) => thousands(delay.requests)],
  ['of them refused with 429', ({ delay }) => thousands(delay.refused)],
  ['fewest rows that a reader found', ({ delay }) => `${Math.round(delay.leastShare * 100)} %`],
  ['CPU, s', ({ delay }) => show(delay.cpuSeconds)],
  ['peak memory, MB', ({ delay }) => show(delay.peakRssMb)],
];

const KILLED: readonly Line[] = [
  ['pages read before the kill', ({ killed }) => thousands(killed.answeredBefore)],
  ['requests of the second run', ({ killed }) => thousands(killed.requestsAfter)],
  ['rows lost', ({ killed }) => thousands(killed.lost)],
  ['rows doubled', ({ killed }) => thousands(killed.doubled)],
];

/** The tables for a terminal. */
export function tablesOf(report: Report): string {
  const tables = [FIRST, DELAY, KILLED].map((lines) => aligned(cellsOf(report, lines)));
  return `${[...tables, aligned(truncatedCells(report)), ...failuresOf(report)].join('\n\n')}\n`;
}

/** `docs/comparison.md`. */
export function documentOf(report: Report): string {
  const { plan, pages, conversations, date, machine, minutes, results } = report;
  const total = sum(conversations);
  const own = results.find(({ name }) => name === 'inbox-mirror')?.delay;
  const facts = {
    ...plan,
    pages,
    conversations: total,
    inboxes: conversations.length,
    changes: own?.changes ?? 0,
    reached: own?.seen ?? 0,
  };
  return [
    HEAD,
    '## A first copy\n',
    markdown(cellsOf(report, FIRST)),
    '',
    '## Changes\n',
    markdown(cellsOf(report, DELAY)),
    '',
    '## A crash in the middle of a first run, and the run after it\n',
    markdown(cellsOf(report, KILLED)),
    '',
    '## An empty page in the middle of a list\n',
    markdown(truncatedCells(report)),
    '',
    ...failuresOf(report),
    description(facts),
    PEERS,
    '## Versions and repetition\n',
    ...results.map(({ name, versions, storage }) => `- ${name}: ${versions}; its copy: ${storage}`),
    `- measured on ${date} in ${Math.round(minutes)} minutes:`,
    `  ${machine}`,
    '',
    '    npm run bench:peers -- --write\n',
  ].join('\n');
}

function cellsOf({ results }: Report, lines: readonly Line[]): string[][] {
  return [
    ['', ...results.map(({ name }) => name)],
    ...lines.map(([title, of]) => [title, ...results.map(of)]),
  ];
}

function truncatedCells({ results }: Report): string[][] {
  return [
    ['', 'wrongly gone', 'after a good run', 'removed rows noticed'],
    ...results.flatMap(({ truncated }) =>
      truncated.map(({ name, wrong, wrongLater, noticed, removed }) => [
        name,
        thousands(wrong),
        thousands(wrongLater),
        `${noticed} of ${removed}`,
      ]),
    ),
  ];
}

/** A sentence for each peer whose run failed in some part. */
function failuresOf({ results }: Report): string[] {
  return results.flatMap(({ name, first, killed, truncated, delay }) => {
    const failures = [first.run, killed, ...truncated, delay].map(({ failure }) => failure);
    const failure = failures.find((one) => one !== null);
    return failure === undefined ? [] : [`A run of ${name} failed: ${failure}\n`];
  });
}

/** No change may have been seen. */
function secondsOf(value: number): string {
  return Number.isFinite(value) ? show(value) : '-';
}
