import { MINUTE } from '../../src/core/clock.ts';
import { thousands } from '../../src/core/humanize.ts';
import type { Account } from './account.ts';
import type { Facts } from './facts.ts';
import type { Outcome } from './staleness.ts';
import { aligned, mean, median, quantile, show } from '../figures.ts';

/** The name of the policy that is not simulated: the daemon itself. */
export const PLANNER = 'the planner (the daemon)';

/** The results of a policy on all seeds together; delays in minutes. */
export interface Result {
  readonly policy: string;
  readonly changes: number;
  readonly unread: number;
  readonly mean: number;
  readonly median: number;
  readonly p95: number;
  /** The share of rows whose state the mirror has, of 1. */
  readonly current: number;
  readonly requestsADay: number;
  /** Requests in the hours with the fewest and the most, of the mean hour. */
  readonly leastHour: number;
  readonly greatestHour: number;
  /** Null if simulated. */
  readonly violations: { readonly refused: number; readonly overCap: number } | null;
  /** Mean requests in each hour of the measured days. */
  readonly byHour: readonly number[];
}

/** The results of one account. */
export interface Report {
  readonly account: Account;
  readonly seeds: readonly number[];
  readonly warm: number;
  readonly days: number;
  /** Means over the seeds. */
  readonly facts: Facts;
  /** The bound D*, in minutes: the mean over the seeds. */
  readonly bound: number;
  readonly results: readonly Result[];
}

/** The reports of each account; the later ones have other seeds than the first. */
export function byAccount(reports: readonly Report[]): readonly (readonly [Report, ...Report[]])[] {
  const groups = Map.groupBy(reports, ({ account }) => account.name);
  return [...groups.values()] as [Report, ...Report[]][];
}

/** Sums up what a policy reached with several seeds. */
export function resultOf(policy: string, outcomes: readonly Outcome[]): Result {
  const delays = outcomes.flatMap((outcome) => outcome.delays);
  const unread = outcomes.reduce((sum, outcome) => sum + outcome.unread, 0);
  const hours = outcomes.flatMap(({ byHour }) => byHour);
  const anHour = mean(hours);
  const first = outcomes[0]!;
  const count = (kind: 'refused' | 'overCap'): number =>
    outcomes.reduce((sum, { violations }) => sum + (violations?.[kind] ?? 0), 0);
  return {
    policy,
    changes: delays.length + unread,
    unread,
    mean: mean(delays) / MINUTE,
    median: median(delays) / MINUTE,
    p95: quantile(delays, 0.95) / MINUTE,
    current: mean(outcomes.map(({ currentShare }) => currentShare)),
    requestsADay: 24 * anHour,
    leastHour: Math.min(...hours) / anHour,
    greatestHour: Math.max(...hours) / anHour,
    violations: first.violations === null ? null : { refused: count('refused'), overCap: count('overCap') },
    byHour: first.byHour.map((_, hour) => mean(outcomes.map(({ byHour }) => byHour[hour]!))),
  };
}

/** The mean of each fact. */
export function meanFacts(facts: readonly Facts[]): Facts {
  const first = facts[0]!;
  return Object.fromEntries(
    Object.keys(first).map((name) => [name, mean(facts.map((one) => one[name as keyof Facts]))]),
  ) as unknown as Facts;
}

/** Shares as percentages, with enough digits for those near 100 %. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0.99 ? 3 : 1)} %`;
}

/** The columns of a result, for both kinds of tables. */
export const COLUMNS: readonly { readonly title: string; readonly of: (result: Result) => string }[] = [
  { title: 'policy', of: ({ policy }) => policy },
  { title: 'mean', of: (result) => show(result.mean) },
  { title: 'median', of: (result) => show(result.median) },
  { title: '95 %', of: (result) => show(result.p95) },
  { title: 'current', of: ({ current }) => percent(current) },
  { title: 'a day', of: ({ requestsADay }) => thousands(Math.round(requestsADay)) },
  { title: 'least h', of: ({ leastHour }) => leastHour.toFixed(2) },
  { title: 'most h', of: ({ greatestHour }) => greatestHour.toFixed(2) },
  { title: '429', of: ({ violations }) => String(violations?.refused ?? '-') },
  { title: 'over cap', of: ({ violations }) => String(violations?.overCap ?? '-') },
  { title: 'unread', of: ({ unread }) => String(unread) },
];

/** A report for a terminal. */
export function textOf({ account, seeds, warm, days, facts, bound, results }: Report): string {
  const table = aligned([
    COLUMNS.map(({ title }) => title),
    ...results.map((result) => COLUMNS.map((column) => column.of(result))),
  ]);
  const planner = results.find(({ policy }) => policy === PLANNER);
  const byDay = Array.from({ length: (planner?.byHour.length ?? 0) / 24 }, (_, day) => [
    `day ${warm + day + 1}`,
    ...planner!.byHour.slice(24 * day, 24 * (day + 1)).map((requests) => String(Math.round(requests))),
  ]);
  const hours = aligned([['hour', ...Array.from({ length: 24 }, (_, hour) => String(hour))], ...byDay]);
  return [
    `${account.name}: ${account.inboxes} inboxes, ${account.conversations} conversations,` +
      ` ${account.newADay} new on a working day; seeds ${seeds.join(', ')}; ${warm} + ${days} days`,
    `trace: ${sentence(facts)}`,
    `changes measured: ${results[0]?.changes ?? 0}; D* = ${show(bound)} min. Delays in minutes:`,
    table,
    '',
    hours,
    '',
  ].join('\n');
}

function sentence(facts: Facts): string {
  return [
    `${Math.round(facts.changesADay)} changes on a working day`,
    `${percent(facts.shortGaps)} of the gaps in a conversation under 15 min`,
    `${percent(facts.newest100)} in the newest 100 rows`,
    `${percent(facts.newest5Percent)} in the newest 5 %`,
    `weekend ${percent(facts.weekend)}`,
    `Fano factor ${facts.fano.toFixed(1)}`,
  ].join('; ');
}
