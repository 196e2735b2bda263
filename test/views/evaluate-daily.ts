import type { StatusMeanings } from '../../src/core/lists.ts';
import { meaningOf } from './evaluate-report.ts';
import type { Sighting } from './evaluate.ts';
import type { Interval } from './evaluate-facts.ts';

/** What the daily views depend on: every day of the report up to today, and the day of an instant. */
export interface Calendar {
  readonly days: readonly string[];
  readonly dayOf: (at: string) => string;
}

/**
 * `assignee_daily` without SQL: `day inbox assignee` to backlog, closed and reopened. The backlog is counted in
 * what the service held; the rest comes from the intervals. All three 0: no row.
 */
export function assigneeDays(
  sightings: readonly Sighting[],
  { status, assignee }: Record<'status' | 'assignee', readonly Interval[]>,
  { days, dayOf }: Calendar,
  meanings: StatusMeanings,
): Map<string, [backlog: number, closed: number, reopened: number]> {
  const found = new Map<string, [number, number, number]>();
  const add = (key: string, nth: 0 | 1 | 2): void => {
    const row = found.get(key) ?? [0, 0, 0];
    row[nth] += 1;
    found.set(key, row);
  };
  const isFinal = (value: string | null): boolean => meaningOf(meanings, value) === 'final';
  for (const day of days)
    for (const [key, one] of stateOn(sightings, day, dayOf)?.seen ?? [])
      if (!isFinal(one.status)) add(`${day} ${key.split('/')[0]} ${one.assignee}`, 0);
  const owners = Map.groupBy(assignee, ({ key }) => key);
  for (const [nth, one] of status.entries()) {
    const before = status[nth - 1];
    if (before?.key !== one.key || before.to !== one.from) continue;
    if (isFinal(before.value) === isFinal(one.value)) continue;
    const owner = owners.get(one.key)?.find(({ from, to }) => from <= one.from && (to ?? '9') > one.from);
    const key = `${dayOf(one.from)} ${one.key.split('/')[0]} ${owner?.value ?? null}`;
    add(key, isFinal(one.value) ? 1 : 2);
  }
  return found;
}

/** `tag_daily` without SQL: `day inbox tag` to conversations, not closed, and intervals that began. */
export function tagDays(
  sightings: readonly Sighting[],
  tags: readonly Interval[],
  { days, dayOf }: Calendar,
  meanings: StatusMeanings,
): Map<string, [conversations: number, notClosed: number, tagged: number]> {
  const found = new Map<string, [number, number, number]>();
  const add = (key: string, nth: 0 | 1 | 2): void => {
    const row = found.get(key) ?? [0, 0, 0];
    row[nth] += 1;
    found.set(key, row);
  };
  for (const day of days)
    for (const [key, { status, tags: carried }] of stateOn(sightings, day, dayOf)?.seen ?? [])
      for (const tag of carried) {
        add(`${day} ${key.split('/')[0]} ${tag}`, 0);
        if (meaningOf(meanings, status) !== 'final') add(`${day} ${key.split('/')[0]} ${tag}`, 1);
      }
  for (const { key, value, from, isLowerBound } of tags)
    if (isLowerBound === 0) add(`${dayOf(from)} ${key.split('/')[0]} ${value}`, 2);
  return found;
}

/** The state at the last sync of a day or before it. */
function stateOn(
  sightings: readonly Sighting[],
  day: string,
  dayOf: (at: string) => string,
): Sighting | undefined {
  return sightings.findLast(({ at }) => dayOf(at) <= day);
}

/** A row of `status_times` and `milestone_times`, without its names. */
export function sharesOf(seconds: readonly number[]): object {
  const sorted = [...seconds].sort((a, b) => a - b);
  const within = (most: number): number => sorted.filter((one) => one <= most).length / sorted.length;
  return {
    conversations: sorted.length,
    mean_seconds: Math.floor(sorted.reduce((sum, one) => sum + one, 0) / sorted.length),
    median_seconds: sorted[Math.ceil(sorted.length / 2) - 1],
    p90_seconds: sorted[Math.ceil((sorted.length * 9) / 10) - 1],
    within_1h: within(3600),
    within_4h: within(4 * 3600),
    within_8h: within(8 * 3600),
    within_24h: within(24 * 3600),
  };
}

/** The times behind `status_times`, by `inbox status`: of conversations whose visits all began and ended. */
export function statusTimes(status: readonly Interval[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const visits of Map.groupBy(status, ({ key, value }) => `${key} ${value}`).values()) {
    if (visits.some(({ to, isLowerBound }) => to === null || isLowerBound === 1)) continue;
    const ms = visits.reduce((sum, { from, to }) => sum + Date.parse(to!) - Date.parse(from), 0);
    const name = `${visits[0]!.key.split('/')[0]} ${visits[0]!.value}`;
    found.set(name, [...(found.get(name) ?? []), Math.floor(ms / 1000)]);
  }
  return found;
}
