import type { Budget } from '../../core/budget.ts';
import { DAY } from '../../core/clock.ts';
import type { Database, Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { daysBetween } from './days.ts';
import { writeSetting } from './settings.ts';

/** The part of the configuration that the views need. */
export interface ViewSettings {
  /** The time zone in which the views cut days. */
  readonly reportTimezone: string;
  readonly budget: Pick<Budget, 'perDay' | 'reserved'>;
}

/** Days are written this many ms ahead, and again when fewer than `ENOUGH_AHEAD_MS` are left. */
const AHEAD_MS = 60 * DAY;
const ENOUGH_AHEAD_MS = 30 * DAY;

/**
 * Writes the settings that the views read, and the days of the report's time zone from the first sighting to
 * 60 days ahead. If all of them are up to date, it costs three queries and no write. `now` is epoch ms.
 */
export async function keepViewSettings(
  database: Database,
  settings: ViewSettings,
  now: number,
): Promise<void> {
  const wanted = new Map([
    ['report_timezone', settings.reportTimezone],
    ['requests_per_day', String(settings.budget.perDay)],
    ['requests_reserved', String(settings.budget.reserved)],
  ]);
  const rows = await database.query<{ name: string; value: string }>(`SELECT name, value FROM settings`);
  const stored = new Map(rows.map(({ name, value }) => [name, value]));
  const differing = [...wanted].filter(([name, value]) => stored.get(name) !== value);
  const sameZone = stored.get('report_timezone') === settings.reportTimezone;
  const first = await firstSighting(database, now);
  if (differing.length === 0 && (await isCovered(database, first, now))) return;
  await database.transaction(async (tx) => {
    for (const [name, value] of differing) await writeSetting(tx, name, value);
    if (!sameZone) await tx.execute(`DELETE FROM report_days`);
    await writeDays(tx, database, settings.reportTimezone, { from: first, to: now + AHEAD_MS });
  });
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
async function isCovered(database: Database, from: number, now: number): Promise<boolean> {
  const rows = await database.query<{ day: string }>(
    `SELECT day FROM report_days WHERE starts_at <= $1 AND ends_at > $1
     UNION ALL SELECT day FROM report_days WHERE starts_at <= $2 AND ends_at > $2`,
    iso(from),
    iso(now + ENOUGH_AHEAD_MS),
  );
  return rows.length === 2;
}

async function writeDays(
  tx: Sql,
  { dialect }: Database,
  timezone: string,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const days = daysBetween(timezone, from, to).map(({ day, startsAt, endsAt }) => ({
    day,
    starts_at: iso(startsAt),
    ends_at: iso(endsAt),
  }));
  const columns = { day: 'day', starts_at: 'instant', ends_at: 'instant' } as const;
  await tx.execute(
    `INSERT INTO report_days (day, starts_at, ends_at)
     SELECT day, starts_at, ends_at FROM ${dialect.records('$1', columns, 'days')} WHERE TRUE
     ON CONFLICT (day) DO UPDATE SET starts_at = excluded.starts_at, ends_at = excluded.ends_at`,
    JSON.stringify(days),
  );
}
