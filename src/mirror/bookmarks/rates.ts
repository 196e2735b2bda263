import { type Database } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import type { FencedDatabase } from '../lease.ts';

/** Events in a number of hours, as the planner has learned them; `updatedAt` is epoch ms. */
export interface StoredRate {
  readonly name: string;
  readonly events: number;
  readonly hours: number;
  readonly updatedAt: number;
}

/** Everything that the planner has learned. */
export async function readRates(database: Database): Promise<StoredRate[]> {
  const rows = await database.query<{ name: string; events: number; hours: number; updated_at: Date }>(
    `SELECT name, events, hours, updated_at FROM rates`,
  );
  return rows.map(({ updated_at, ...row }) => ({ ...row, updatedAt: updated_at.getTime() }));
}

/** Replaces learned rates by their name. */
export async function writeRates(
  { database, write }: FencedDatabase,
  rates: readonly StoredRate[],
): Promise<void> {
  if (rates.length === 0) return;
  const columns = { name: 'text', events: 'text', hours: 'text', updated_at: 'instant' } as const;
  const rows = rates.map(({ name, events, hours, updatedAt }) => ({
    name,
    events: String(events),
    hours: String(hours),
    updated_at: iso(updatedAt),
  }));
  await write((tx) =>
    tx.execute(
      `INSERT INTO rates (name, events, hours, updated_at)
       SELECT name, CAST(events AS DOUBLE PRECISION), CAST(hours AS DOUBLE PRECISION), updated_at
       FROM ${database.dialect.records('$1', columns, 'learned')} WHERE TRUE
       ON CONFLICT (name) DO UPDATE SET
         events = excluded.events, hours = excluded.hours, updated_at = excluded.updated_at`,
      JSON.stringify(rows),
    ),
  );
}
