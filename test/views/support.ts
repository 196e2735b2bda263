import { onTestFinished } from 'vitest';
import { DAY } from '../../src/core/clock.ts';
import type { Database } from '../../src/database/database.ts';
import { iso } from '../../src/database/instants.ts';
import { stopViewsAt } from '../../src/database/views/views.ts';
import type { OfficeHours } from '../../src/mirror/settings/office.ts';
import { keepViewSettings, type ViewSettings } from '../../src/mirror/settings/views.ts';
import type { TestMirror } from '../support/mirror.ts';
import { ON_SQLITE } from '../support/provider.ts';

const stoppedAt = new WeakMap<Database, string>();

/** The office hours of the tests: 09:00 to 12:00 and 13:00 to 17:30 from Monday to Friday. */
export function officeHours(timezone: string): OfficeHours {
  const day = [
    [9 * 60, 12 * 60],
    [13 * 60, 17 * 60 + 30],
  ] as const;
  return { timezone, week: [day, day, day, day, day, [], []] };
}

/**
 * Queries a view at the test clock's time. Returns instants in SQLite's stored form and booleans as numbers.
 * @param settings the report's time zone, or settings in place of the tests' usual ones
 */
export async function ask(
  { database, clock }: Pick<TestMirror, 'database' | 'clock'>,
  sql: string,
  settings: string | Partial<ViewSettings> = {},
): Promise<Record<string, unknown>[]> {
  const { reportTimezone = 'UTC', ...others } =
    typeof settings === 'string' ? { reportTimezone: settings } : settings;
  await keepViewSettings(
    database,
    {
      reportTimezone,
      budget: { perDay: 5000, reserved: 250 },
      officeHours: officeHours(reportTimezone),
      ...others,
    },
    clock.now(),
  );
  const now = new Date(clock.now()).toISOString();
  // The next test reuses a server's mirror, and would create all views again.
  if (!ON_SQLITE && !stoppedAt.has(database))
    onTestFinished(() => stopViewsAt(database, null).catch(() => undefined));
  if (stoppedAt.get(database) !== now) await stopViewsAt(database, now);
  stoppedAt.set(database, now);
  const rows = await database.query<Record<string, unknown>>(sql);
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
  );
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return iso(value);
  return typeof value === 'boolean' ? Number(value) : value;
}

/**
 * An instant to the minute: `08:15` on the tests' first day, `day 2 08:15` on the second.
 * This hides the milliseconds that a sync takes on the test clock.
 */
export function minute(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const day = (Date.parse(value.slice(0, 10)) - Date.parse('2026-03-02')) / DAY + 1;
  return `${day === 1 ? '' : `day ${day} `}${value.slice(11, 16)}`;
}
