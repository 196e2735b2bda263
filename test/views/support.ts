import { DAY } from '../../src/core/clock.ts';
import type { Database } from '../../src/database/database.ts';
import { iso } from '../../src/database/instants.ts';
import { stopViewsAt } from '../../src/database/views.ts';
import { keepViewSettings } from '../../src/mirror/settings/views.ts';
import type { TestMirror } from '../support/mirror.ts';

const stoppedAt = new WeakMap<Database, string>();

/** Queries a view at the test clock's time. Returns instants in SQLite's stored form and booleans as numbers. */
export async function ask(
  { database, clock }: Pick<TestMirror, 'database' | 'clock'>,
  sql: string,
  reportTimezone = 'UTC',
): Promise<Record<string, unknown>[]> {
  await keepViewSettings(database, { reportTimezone, budget: { perDay: 5000, reserved: 250 } }, clock.now());
  const now = new Date(clock.now()).toISOString();
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
