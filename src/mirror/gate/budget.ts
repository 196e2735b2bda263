import { BUDGET_WINDOW_MS } from '../../core/budget.ts';
import type { Database } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';

/** Requests that the ledger holds since an instant (epoch ms). */
export async function countSent(database: Database, since: number): Promise<number> {
  const [row] = await database.query<{ sent: number }>(
    `SELECT count(*) AS sent FROM requests WHERE sent_at > $1`,
    iso(since),
  );
  return row?.sent ?? 0;
}

/** When `many` more of the window's requests will have left it (at the latest when all have); now where there are none. */
export async function leavesWindowAt(database: Database, many: number, now: number): Promise<Date> {
  const since = now - BUDGET_WINDOW_MS;
  const nth = Math.max(1, Math.min(many, await countSent(database, since)));
  const [row] = await database.query<{ sent_at: Date }>(
    `SELECT sent_at FROM requests WHERE sent_at > $1 ORDER BY sent_at LIMIT 1 OFFSET $2`,
    iso(since),
    nth - 1,
  );
  return new Date((row?.sent_at.getTime() ?? since) + BUDGET_WINDOW_MS);
}
