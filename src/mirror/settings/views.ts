import type { Budget } from '../../core/budget.ts';
import { DAY, SECOND } from '../../core/clock.ts';
import { FINAL_STATUSES, type StatusMeanings, WAITING_STATUSES } from '../../core/lists.ts';
import type { Database, Sql } from '../../database/database.ts';
import type { RecordKind } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import { daysBetween } from './days.ts';
import { type OfficeHours, officeIntervals } from './office.ts';
import { offsetsBetween } from './offsets.ts';
import { writeSetting } from './settings.ts';

/** The part of the configuration that the views need. */
export interface ViewSettings {
  /** The time zone in which the views cut days. */
  readonly reportTimezone: string;
  readonly budget: Pick<Budget, 'perDay' | 'reserved'>;
  /** Absent: the defaults. */
  readonly statuses?: StatusMeanings;
  /** Absent or null: none. */
  readonly officeHours?: OfficeHours | null;
}

/** The settings from which the days, the offsets and the office hours are made. */
const CALENDAR_SETTINGS: ReadonlySet<string> = new Set(['report_timezone', 'office_hours']);

/** Days are written this many ms ahead, and again when fewer than `ENOUGH_AHEAD_MS` are left. */
const AHEAD_MS = 400 * DAY;
const ENOUGH_AHEAD_MS = 366 * DAY;

/** A setting of the views, named as its variable in lower case, of which the mirror has another value. */
export interface OtherSetting {
  readonly name: string;
  readonly stored: string;
  readonly given: string;
}

/** The settings of which the mirror has another value. */
export async function otherViewSettings(
  database: Database,
  settings: ViewSettings,
): Promise<readonly OtherSetting[]> {
  const stored = await storedSettings(database);
  return [...settingsOf(settings)].flatMap(([name, given]) => {
    const value = stored.get(name);
    return value === undefined || value === given ? [] : [{ name, stored: value, given }];
  });
}

/** The day's limits of the last process that kept these settings; null if none has. */
export async function recordedLimits(database: Database): Promise<ViewSettings['budget'] | null> {
  const stored = await storedSettings(database);
  const [perDay, reserved] = [stored.get('requests_per_day'), stored.get('requests_reserved')];
  if (perDay === undefined || reserved === undefined) return null;
  return { perDay: Number(perDay), reserved: Number(reserved) };
}

/**
 * Writes the settings that the views read, and the days, offsets and office hours from the first sighting to
 * 400 days ahead. If all of them are up to date, it costs three queries and no write. `now` is epoch ms.
 */
export async function keepViewSettings(
  database: Database,
  settings: ViewSettings,
  now: number,
): Promise<void> {
  const wanted = settingsOf(settings);
  const first = await firstSighting(database, now);
  const compared = async (sql: Pick<Sql, 'query'>) => {
    const stored = await storedSettings(sql);
    const differing = [...wanted].filter(([name, value]) => stored.get(name) !== value);
    return { differing, isCovered: await covers(sql, first, now) };
  };
  const before = await compared(database);
  if (before.differing.length === 0 && before.isCovered) return;
  await database.transaction(async (tx) => {
    // Two processes that replace the days at once take turns here. The second compares again, because the
    // first may have written the days of another time zone.
    await tx.execute(
      `INSERT INTO settings (name, value) VALUES ('report_timezone', $1)
       ON CONFLICT (name) DO UPDATE SET value = settings.value`,
      settings.reportTimezone,
    );
    const { differing, isCovered } = await compared(tx);
    for (const [name, value] of differing) await writeSetting(tx, name, value);
    const isSame = !differing.some(([name]) => CALENDAR_SETTINGS.has(name));
    if (isCovered && isSame) return;
    await writeCalendar(tx, database, settings, { from: first, to: now + AHEAD_MS });
  });
}

function settingsOf({ reportTimezone, budget, statuses, officeHours }: ViewSettings): Map<string, string> {
  const { final, waiting } = statuses ?? { final: FINAL_STATUSES, waiting: WAITING_STATUSES };
  return new Map([
    ['report_timezone', reportTimezone],
    ['requests_per_day', String(budget.perDay)],
    ['requests_reserved', String(budget.reserved)],
    ['final_statuses', JSON.stringify(final)],
    ['waiting_statuses', JSON.stringify(waiting)],
    ['office_hours', JSON.stringify(officeHours ?? null)],
  ]);
}

async function storedSettings(sql: Pick<Sql, 'query'>): Promise<Map<string, string>> {
  const rows = await sql.query<{ name: string; value: string }>(`SELECT name, value FROM settings`);
  return new Map(rows.map(({ name, value }) => [name, value]));
}

/** When the mirror first saw an item, epoch ms; `now` if it has seen none yet. */
async function firstSighting(database: Database, now: number): Promise<number> {
  const [row] = await database.query<{ seen: Date | string | null }>(
    `SELECT min(seen) AS seen FROM (
       SELECT min(first_seen_at) AS seen FROM inboxes
       UNION ALL SELECT min(observed_at) FROM changes) AS sightings`,
  );
  return row?.seen ? Math.min(now, new Date(row.seen).getTime()) : now;
}

/** True if days are stored from `from` until far enough ahead of `now`. */
async function covers(sql: Pick<Sql, 'query'>, from: number, now: number): Promise<boolean> {
  const rows = await sql.query<{ day: string }>(
    `SELECT day FROM report_days WHERE starts_at <= $1 AND ends_at > $1
     UNION ALL SELECT day FROM report_days WHERE starts_at <= $2 AND ends_at > $2`,
    iso(from),
    iso(now + ENOUGH_AHEAD_MS),
  );
  return rows.length === 2;
}

/** Replaces the days, the offsets and the office hours. */
async function writeCalendar(
  tx: Sql,
  { dialect }: Database,
  { reportTimezone, officeHours }: ViewSettings,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const days = daysBetween(reportTimezone, from, to);
  const [start, end] = [days[0]?.startsAt ?? from, days.at(-1)?.endsAt ?? to];
  const write = async (
    table: string,
    columns: Readonly<Record<string, RecordKind>>,
    rows: readonly object[],
  ): Promise<void> => {
    await tx.execute(`DELETE FROM ${table}`);
    const names = Object.keys(columns).join(', ');
    await tx.execute(
      `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${dialect.records('$1', columns, 'written')}`,
      JSON.stringify(rows),
    );
  };
  const span = { starts_at: 'instant', ends_at: 'instant' } as const;
  await write(
    'report_days',
    { day: 'day', ...span },
    days.map(({ day, ...at }) => ({ day, ...instants(at) })),
  );
  await write(
    'report_offsets',
    { id: 'integer', ...span, offset_seconds: 'integer' },
    offsetsBetween(reportTimezone, start, end).map(({ offsetMs, ...at }, id) => ({
      id,
      ...instants(at),
      offset_seconds: offsetMs / SECOND,
    })),
  );
  const intervals = officeHours
    ? officeIntervals(officeHours, offsetsBetween(officeHours.timezone, start, end))
    : [];
  await write(
    'office_hours',
    { id: 'integer', ...span, before_seconds: 'integer', after_seconds: 'integer' },
    intervals.map(({ beforeSeconds, afterSeconds, ...at }, id) => ({
      id,
      ...instants(at),
      before_seconds: beforeSeconds,
      after_seconds: afterSeconds,
    })),
  );
}

function instants({ startsAt, endsAt }: { startsAt: number; endsAt: number }): object {
  return { starts_at: iso(startsAt), ends_at: iso(endsAt) };
}
