import type { ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { sinceComplete } from '../sweeps/sweeps.ts';

/** Lists keep their order from sweep to sweep, so an item is most likely about where it was: how many pages to either side are looked at first, and next. */
const NEARBY_PAGES = [2, 20];

/**
 * When each item was last seen: when the newest of the kept pages that held it was fetched, whatever became of that page's sweep.
 * Items that none held are left out.
 * @param near the page on which the items are now, to look there first; null to look everywhere at once
 */
export async function lastSightings(
  sql: Sql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  ids: readonly string[],
  near: number | null,
): Promise<Map<string, string>> {
  const seen = new Map<string, string>();
  /** Looks for what is not found yet, on these pages of every sweep since the `nth` last complete one (1 is the last). */
  const look = async (pages: { from: number; to: number } | null, nth: number): Promise<void> => {
    const wanted = ids.filter((id) => !seen.has(id));
    if (wanted.length === 0) return;
    const rows = await sql.query<{ id: string; fetched_at: Date }>(
      `SELECT held.value AS id, pages.fetched_at
       FROM sweep_pages AS pages, ${dialect.texts('pages.item_ids', 'held')}
       WHERE ${dialect.oneOfFew('pages.sweep_id', `SELECT id FROM sweeps WHERE ${sinceComplete(nth)}`)}
         AND held.value IN (SELECT value FROM ${dialect.texts('$3', 'wanted')})${pages === null ? '' : ' AND pages.page_no BETWEEN $4 AND $5'}
       ORDER BY pages.fetched_at`,
      list,
      inboxId,
      JSON.stringify(wanted),
      pages?.from,
      pages?.to,
    );
    for (const row of rows) seen.set(row.id, row.fetched_at.toISOString());
  };
  if (near !== null)
    for (const reach of NEARBY_PAGES) await look({ from: near - reach, to: near + reach }, 1);
  await look(null, 2);
  return seen;
}
