import type { StatusMeanings } from '../../src/core/lists.ts';
import { meaningOf } from './evaluate-report.ts';

/** The time in which a conversation kept a value, as the views of intervals show it. */
export interface Interval {
  readonly key: string;
  readonly value: string | null;
  readonly from: string;
  readonly earliest: string | null;
  readonly to: string | null;
  readonly isLowerBound: unknown;
}

/** The history of one conversation: what `conversation_facts`, `assignments` and `reopens` say of it. */
export interface Facts {
  first_assigned_at: string | null;
  first_assignee_id: string | null;
  last_assigned_at: string | null;
  last_assignee_id: string | null;
  first_closed_at: string | null;
  last_closed_at: string | null;
  assignee_at_close_id: string | null;
  closes: number;
  last_reopened_at: string | null;
  reopens: number;
  open_seconds: number;
  pending_seconds: number;
  not_closed_seconds: number;
  unassigned_seconds: number;
  total_seconds: number;
  open_office_seconds: number;
  pending_office_seconds: number;
  not_closed_office_seconds: number;
  unassigned_office_seconds: number;
  total_office_seconds: number;
  is_lower_bound: number;
}

/** What the facts depend on beside the intervals. */
export interface Present {
  /** ISO 8601. */
  readonly now: string;
  readonly meanings: StatusMeanings;
  /** Office hours between two instants (epoch ms), in ms. */
  readonly office: (from: number, to: number) => number;
}

/** The facts of each conversation, without SQL. Intervals are in the order of time. */
export function factsOf(
  statuses: readonly Interval[],
  assignees: readonly Interval[],
  present: Present,
): Map<string, Facts> {
  const owners = Map.groupBy(assignees, ({ key }) => key);
  return new Map(
    [...Map.groupBy(statuses, ({ key }) => key)].map(([key, stays]) => [
      key,
      factsOfOne(stays, owners.get(key) ?? [], present),
    ]),
  );
}

function factsOfOne(
  stays: readonly Interval[],
  owners: readonly Interval[],
  { now, meanings, office }: Present,
): Facts {
  const sum = (of: readonly Interval[], length: (from: number, to: number) => number): number =>
    Math.floor(
      of.reduce((all, { from, to }) => all + length(Date.parse(from), Date.parse(to ?? now)), 0) / 1000,
    );
  const is = ({ value }: Interval, meaning: string): boolean => meaningOf(meanings, value) === meaning;
  const times = {
    open: stays.filter((one) => is(one, 'open')),
    pending: stays.filter((one) => is(one, 'waiting')),
    not_closed: stays.filter((one) => !is(one, 'final')),
    unassigned: owners.filter(({ value }) => value === null),
    total: stays,
  };
  const seconds = (of: keyof typeof times): number => sum(times[of], (from, to) => to - from);
  const turns = stays.filter((one, nth) => {
    const before = stays[nth - 1];
    return before?.to === one.from && is(before, 'final') !== is(one, 'final');
  });
  const closes = turns.filter((one) => is(one, 'final')).map(({ from }) => from);
  const reopens = turns.filter((one) => !is(one, 'final')).map(({ from }) => from);
  const owned = owners.filter(({ value }) => value !== null);
  const close = closes.at(-1) ?? null;
  return {
    first_assigned_at: owned[0]?.from ?? null,
    first_assignee_id: owned[0]?.value ?? null,
    last_assigned_at: owned.at(-1)?.from ?? null,
    last_assignee_id: owned.at(-1)?.value ?? null,
    first_closed_at: closes[0] ?? null,
    last_closed_at: close,
    assignee_at_close_id: close === null ? null : valueAt(owners, close),
    closes: closes.length,
    last_reopened_at: reopens.at(-1) ?? null,
    reopens: reopens.length,
    open_seconds: seconds('open'),
    pending_seconds: seconds('pending'),
    not_closed_seconds: seconds('not_closed'),
    unassigned_seconds: seconds('unassigned'),
    total_seconds: seconds('total'),
    open_office_seconds: sum(times.open, office),
    pending_office_seconds: sum(times.pending, office),
    not_closed_office_seconds: sum(times.not_closed, office),
    unassigned_office_seconds: sum(times.unassigned, office),
    total_office_seconds: sum(times.total, office),
    is_lower_bound: stays.some(({ isLowerBound }) => isLowerBound === 1) ? 1 : 0,
  };
}

/** A row of `assignments`. */
export interface Assigned {
  first_assigned_at: string | null;
  seconds_to_first: number | null;
  reassignments: number;
  distinct_assignees: number;
  is_lower_bound: number;
  first_assignee_id: string | null;
  last_assigned_at: string | null;
  last_assignee_id: string | null;
}

/** What `assignments` says of each conversation, without SQL. */
export function assignmentsOf(assignees: readonly Interval[]): Map<string, Assigned> {
  return new Map(
    [...Map.groupBy(assignees, ({ key }) => key)].map(([key, stays]) => {
      const first = stays.findIndex(({ value }) => value !== null);
      const people = stays.flatMap(({ value }) => (value === null ? [] : [value]));
      const owned = stays.filter(({ value }) => value !== null);
      const before = stays.slice(0, Math.max(first, 0));
      const waited = before.reduce((sum, { from, to }) => sum + Date.parse(to!) - Date.parse(from), 0);
      const isLowerBound = stays.some((one) => one.isLowerBound === 1);
      const facts = {
        first_assigned_at: owned[0]?.from ?? null,
        seconds_to_first: first < 0 || (first === 0 && isLowerBound) ? null : Math.floor(waited / 1000),
        reassignments: people.filter((one, nth) => nth > 0 && one !== people[nth - 1]).length,
        distinct_assignees: new Set(people).size,
        is_lower_bound: isLowerBound ? 1 : 0,
        first_assignee_id: people[0] ?? null,
        last_assigned_at: owned.at(-1)?.from ?? null,
        last_assignee_id: people.at(-1) ?? null,
      };
      return [key, facts] as const;
    }),
  );
}

function valueAt(all: readonly Interval[], at: string): string | null {
  return all.find(({ from, to }) => from <= at && (to === null || to > at))?.value ?? null;
}

/** How often conversations went from one assignee to the next, by `inbox from to`. */
export function handoffsOf(
  assignees: readonly Interval[],
): Map<string, [times: number, conversations: number]> {
  const found = new Map<string, string[]>();
  for (const [key, owners] of Map.groupBy(assignees, (one) => one.key)) {
    const people = owners.flatMap(({ value }) => (value === null ? [] : [value]));
    for (const [nth, to] of people.entries()) {
      const from = people[nth - 1];
      if (from === undefined || from === to) continue;
      const pair = `${key.split('/')[0]} ${from} ${to}`;
      found.set(pair, [...(found.get(pair) ?? []), key]);
    }
  }
  return new Map([...found].map(([pair, keys]) => [pair, [keys.length, new Set(keys).size]] as const));
}
