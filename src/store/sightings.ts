import type { ListKey } from '../core/lists.ts';
import type { Sql } from './database.ts';
import type { Dialect } from './dialect.ts';

/** Lists keep their order from sweep to sweep, so an item is most likely where it was: this many pages to either side. */
const NEARBY_PAGES = 2;

/**
 * When each item was last seen before the sweep that is under way: when the page that held it was fetched, in the newest
 * of the kept complete sweeps that held it. Items that none held are left out.
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
  if (ids.length === 0) return seen;
  const look = async (wanted: readonly string[], from: number, to: number): Promise<void> => {
    const rows = await sql.query<{ id: string; fetched_at: Date }>(
      `SELECT held.value AS id, pages.fetched_at
       FROM sweeps JOIN sweep_pages AS pages ON pages.sweep_id = sweeps.id, ${dialect.texts('pages.item_ids', 'held')}
       WHERE sweeps.list = $1 AND sweeps.inbox_id IS NOT DISTINCT FROM $2 AND sweeps.state = 'complete'
         AND pages.page_no BETWEEN $3 AND $4 AND held.value IN (SELECT value FROM ${dialect.texts('$5', 'wanted')})
       ORDER BY pages.fetched_at`,
      list,
      inboxId,
      from,
      to,
      JSON.stringify(wanted),
    );
    for (const row of rows) seen.set(row.id, row.fetched_at.toISOString());
  };
  if (near !== null) await look(ids, near - NEARBY_PAGES, near + NEARBY_PAGES);
  const elsewhere = ids.filter((id) => !seen.has(id));
  if (elsewhere.length > 0) await look(elsewhere, 1, Number.MAX_SAFE_INTEGER);
  return seen;
}
