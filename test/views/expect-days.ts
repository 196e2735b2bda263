import { expect } from 'vitest';
import type { ViewSettings } from '../../src/mirror/settings/views.ts';
import type { TestMirror } from '../support/mirror.ts';
import { isSetBack } from './evaluate-clock.ts';
import { type Flow, flows } from './evaluate-flow.ts';
import { meaningOf } from './evaluate-report.ts';
import { lastChange, lasting, syncOf, type Told } from './evaluate.ts';
import { ask } from './support.ts';

type Settings = Required<Pick<ViewSettings, 'reportTimezone' | 'statuses'>>;

/**
 * Checks the daily views. The backlog of a day is the state at the last sync of that day or before.
 * The flow is what happened between the syncs of that day, and it explains each day's backlog.
 */
export async function expectDays(
  mirror: TestMirror,
  { seen, sightings }: Told,
  settings: Settings,
): Promise<void> {
  const zone = settings.reportTimezone;
  const isFinal = (status: string): boolean => meaningOf(settings.statuses, status) === 'final';
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  const dayOf = (at: string): string => format.format(new Date(at));
  const backlog = new Map<string, Map<string, number>>();
  for (const row of await ask(mirror, `SELECT * FROM backlog_daily WHERE conversations <> 0`, settings)) {
    expect(row['meaning']).toBe(meaningOf(settings.statuses, String(row['status'])));
    const day = backlog.get(String(row['day'])) ?? new Map<string, number>();
    backlog.set(
      String(row['day']),
      day.set(`${String(row['inbox_id'])} ${String(row['status'])}`, Number(row['conversations'])),
    );
  }
  const rows = await ask(mirror, `SELECT * FROM flow_daily`, settings);
  const days = [...new Set(rows.map(({ day }) => String(day)))];
  for (const day of days) {
    const expected = new Map<string, number>();
    for (const [key, { status }] of sightings.findLast(({ at }) => dayOf(at) <= day)?.seen ?? []) {
      const cell = `${key.split('/')[0]} ${status}`;
      expected.set(cell, (expected.get(cell) ?? 0) + 1);
    }
    expect(new Map(backlog.get(day) ?? [])).toEqual(expected);
  }
  const found = new Map(
    rows.map(({ day, inbox_id, ...flow }) => [`${String(day)} ${String(inbox_id)}`, flow as unknown as Flow]),
  );
  for (const flow of found.values())
    expect(
      flow.opening_backlog +
        (flow.came_open + flow.reopened + flow.returned_open + flow.open_back_with_inbox) -
        (flow.closed + flow.went_open + flow.open_lost_with_inbox),
    ).toBe(flow.closing_backlog);
  const asSeen = flows(seen, dayOf, days, isFinal);
  if (!isSetBack(seen)) return expect(Object.fromEntries(found)).toEqual(Object.fromEntries(asSeen));
  // What happened counts at the instant at which it was seen, the backlog in the order of time.
  const inTime = flows(sightings, dayOf, days, isFinal);
  expect([...found.keys()].sort()).toEqual([...inTime.keys()].sort());
  for (const [key, flow] of found) {
    const { opening_backlog, closing_backlog } = inTime.get(key)!;
    const { closed, reopened } = asSeen.get(key)!;
    expect(flow, key).toMatchObject({ opening_backlog, closing_backlog, closed, reopened });
  }
}

/** Checks the views of what waits, by the syncs that saw it begin. */
export async function expectWaits(
  mirror: TestMirror,
  { seen, sightings }: Told,
  settings: Settings,
): Promise<void> {
  const isFinal = (status: string): boolean => meaningOf(settings.statuses, status) === 'final';
  const waiting = async (view: string): Promise<Map<string, object>> =>
    new Map(
      (await ask(mirror, `SELECT * FROM ${view}`, settings)).map((row) => [
        keyOf(row),
        { since: syncOf(sightings, row['since']), isLowerBound: row['is_lower_bound'] },
      ]),
    );
  expect(await waiting('unassigned_age')).toEqual(
    lasting(seen, ({ status, assignee }) => !isFinal(status) && assignee === null),
  );
  const open = lasting(seen, ({ status }) => !isFinal(status));
  expect(await waiting('oldest_open')).toEqual(open);
  for (const row of await ask(mirror, `SELECT * FROM oldest_open`, settings)) {
    const expected = [lastChange(seen, keyOf(row)), open.get(keyOf(row))!.since].sort().at(-1);
    expect(syncOf(sightings, row['unchanged_since']), keyOf(row)).toBe(expected);
  }
}

/** A conversation's inbox and id. */
export function keyOf(row: Record<string, unknown>): string {
  return `${String(row['inbox_id'])}/${String(row['conversation_id'])}`;
}
