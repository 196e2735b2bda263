import { expect } from 'vitest';
import { HOUR } from '../../src/core/clock.ts';
import type { ViewSettings } from '../../src/mirror/settings/views.ts';
import type { TestMirror } from '../support/mirror.ts';
import { assigneeDays, sharesOf, statusTimes, tagDays } from './evaluate-daily.ts';
import { assignmentsOf, factsOf, type Interval } from './evaluate-facts.ts';
import { baselineOf, syncOf, type Told } from './evaluate.ts';
import { ask } from './support.ts';

type Settings = Required<Pick<ViewSettings, 'reportTimezone' | 'statuses'>>;
type Intervals = Record<'status' | 'assignee' | 'tag', readonly Interval[]>;

/** Checks the views that count by day and hour, and those that compute medians and shares. */
export async function expectReports(
  mirror: TestMirror,
  { seen, sightings }: Told,
  intervals: Intervals,
  settings: Settings,
): Promise<void> {
  const { reportTimezone: timeZone, statuses } = settings;
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  const dayOf = (at: string): string => format.format(new Date(at));
  const all = await ask(
    mirror,
    `SELECT day FROM report_days WHERE starts_at <= '${sightings.at(-1)!.at}'`,
    settings,
  );
  const days = all.map(({ day }) => String(day));
  const rowsOf = async (view: string, ...columns: string[]): Promise<Map<string, Record<string, unknown>>> =>
    new Map(
      (await ask(mirror, `SELECT * FROM ${view}`, settings)).map((row) => [
        columns.map((column) => String(row[column])).join(' '),
        row,
      ]),
    );
  const numbers = async (view: string, key: string, columns: string[]): Promise<Map<string, unknown[]>> =>
    new Map(
      [...(await rowsOf(view, 'day', 'inbox_id', key))].map(([name, row]) => [
        name,
        columns.map((column) => row[column]),
      ]),
    );
  expect(await numbers('assignee_daily', 'assignee_id', ['backlog', 'closed', 'reopened'])).toEqual(
    assigneeDays(sightings, intervals, { days, dayOf }, statuses),
  );
  expect(await numbers('tag_daily', 'tag_id', ['conversations', 'not_closed', 'tagged'])).toEqual(
    tagDays(sightings, intervals.tag, { days, dayOf }, statuses),
  );
  const shares = async (view: string, key: string): Promise<Map<string, object>> =>
    await rowsOf(view, 'inbox_id', key);
  const times = await shares('status_times', 'status');
  const expected = statusTimes(intervals.status);
  expect([...times.keys()].sort()).toEqual([...expected.keys()].sort());
  for (const [key, seconds] of expected) expect(times.get(key), key).toMatchObject(sharesOf(seconds));
  const milestones = await shares('milestone_times', 'milestone');
  const reached = milestoneTimes(intervals, settings);
  expect([...milestones.keys()].sort()).toEqual([...reached.keys()].sort());
  for (const [key, seconds] of reached) expect(milestones.get(key), key).toMatchObject(sharesOf(seconds));
  await expectArrivals(mirror, { seen, sightings }, intervals.status, settings);
}

/** The times behind `milestone_times`, by `inbox milestone`. */
function milestoneTimes(
  { status, assignee }: Pick<Intervals, 'status' | 'assignee'>,
  { statuses: meanings }: Settings,
): Map<string, number[]> {
  const found = new Map<string, number[]>();
  const add = (key: string, milestone: string, seconds: number): void => {
    const name = `${key.split('/')[0]} ${milestone}`;
    found.set(name, [...(found.get(name) ?? []), seconds]);
  };
  for (const [key, one] of assignmentsOf(assignee)) {
    const { is_lower_bound: isBound, seconds_to_first: seconds } = one;
    if (isBound === 0 && seconds !== null) add(key, 'first assignment', seconds);
  }
  const facts = factsOf(status, assignee, { now: '', meanings, office: () => 0 });
  for (const [key, one] of facts) {
    if (one.is_lower_bound === 1 || one.first_closed_at === null) continue;
    const seen = Date.parse(status.find((stay) => stay.key === key)!.from);
    const since = (at: string): number => Math.floor((Date.parse(at) - seen) / 1000);
    add(key, 'first close', since(one.first_closed_at));
    if ((one.last_reopened_at ?? '') < one.last_closed_at!)
      add(key, 'last close', since(one.last_closed_at!));
  }
  return found;
}

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** Checks `arrivals_hourly`: its grid, its days, and the conversations that appeared after the first sync. */
async function expectArrivals(
  mirror: TestMirror,
  { seen, sightings }: Told,
  status: readonly Interval[],
  settings: Settings,
): Promise<void> {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: settings.reportTimezone,
    weekday: 'short',
    hour: '2-digit',
  });
  const slotOf = (at: string): string => {
    const [weekday = '', hour = ''] = format.format(new Date(at)).split(/[^\p{L}\d]+/u);
    return `${WEEKDAYS.indexOf(weekday) + 1} ${Number(hour)}`;
  };
  const rows = await ask(mirror, `SELECT inbox_id, id, thread_started_at FROM conversations`, settings);
  const threads = new Map(
    rows.map((row): [string, unknown] => [
      `${String(row['inbox_id'])}/${String(row['id'])}`,
      row['thread_started_at'],
    ]),
  );
  const expected = new Map<string, number>();
  for (const [key, [first]] of Map.groupBy(status, (one) => one.key)) {
    const nth = seen.findIndex((one) => one.seen.has(key));
    if (first === undefined || nth === baselineOf(seen, key.split('/')[0]!)) continue;
    // A clock that is set back can leave nothing of the interval that began with the arrival.
    if (syncOf(sightings, first.from) !== seen[nth]!.at) continue;
    const thread = String(threads.get(key));
    const isNew = first.earliest !== null && thread > first.earliest && thread <= first.from;
    const slot = `${key.split('/')[0]} ${slotOf(isNew ? thread : first.from)}`;
    expected.set(slot, (expected.get(slot) ?? 0) + 1);
  }
  const found = await ask(mirror, `SELECT * FROM arrivals_hourly`, settings);
  const inboxes = [...new Set(sightings.flatMap((one) => one.inboxes))];
  expect(found.length).toBe(inboxes.length * 168);
  const slotted = found.map(
    (row) =>
      [
        ['inbox_id', 'weekday', 'hour'].map((name) => String(row[name])).join(' '),
        Number(row['arrivals']),
      ] as const,
  );
  expect(new Map(slotted.filter(([, arrivals]) => arrivals > 0))).toEqual(expected);
  const date = new Intl.DateTimeFormat('en-CA', { timeZone: settings.reportTimezone });
  const last = Date.parse(sightings.at(-1)!.at);
  for (const inbox of inboxes) {
    const days = new Map<string, Set<string>>();
    const note = (at: number): void => {
      const weekday = slotOf(new Date(at).toISOString()).split(' ')[0]!;
      days.set(weekday, (days.get(weekday) ?? new Set()).add(date.format(at)));
    };
    // A step shorter than any day.
    for (let at = Date.parse(sightings[baselineOf(sightings, inbox)]!.at); at < last; at += 10 * HOUR)
      note(at);
    note(last);
    for (const row of found.filter((one) => one['inbox_id'] === inbox))
      expect(row['days'], inbox).toBe(days.get(String(row['weekday']))?.size ?? 0);
  }
}
