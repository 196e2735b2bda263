import { MISSING, PRESENCE } from '../../core/diff.ts';
import type { ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import { sinceComplete } from '../sweeps/sweeps.ts';
import { itemSql } from './statements.ts';

/**
 * A list keeps its order from sweep to sweep, so most items are near their last page. The first search
 * covers this many pages to either side, the second one more.
 */
const NEARBY_PAGES = [2, 20];

interface PageRange {
  readonly from: number;
  readonly to: number;
}

/**
 * When each item was last seen, ISO 8601, by id: when the newest stored page that holds it was fetched,
 * whatever the state of that page's sweep. Items that are on no stored page are left out.
 * @param near the items' present page, around which the search begins; null to search all pages at once
 */
export async function lastSightings(
  sql: Sql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  ids: readonly string[],
  near: number | null,
): Promise<Map<string, string>> {
  const seen = new Map<string, string>();
  /** Searches these pages of the `nth` last complete sweep (1 is the last) and of all later ones. */
  const search = async (pages: PageRange | null, nth: number): Promise<void> => {
    const wanted = ids.filter((id) => !seen.has(id));
    if (wanted.length === 0) return;
    const rows = await sql.query<{ id: string; fetched_at: Date }>(
      `SELECT held.value AS id, pages.fetched_at
       FROM sweep_pages AS pages, ${dialect.texts('pages.item_ids', 'held')}
       WHERE ${dialect.oneOfFew('pages.sweep_id', `SELECT id FROM sweeps WHERE ${sinceComplete(nth)}`)}
         AND held.value IN (SELECT value FROM ${dialect.texts('$3', 'wanted')})
         ${pages === null ? '' : 'AND pages.page_no BETWEEN $4 AND $5'}
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
    for (const reach of NEARBY_PAGES) await search({ from: near - reach, to: near + reach }, 1);
  await search(null, 2);
  return seen;
}

/**
 * A sighting of suspects that no stored page holds any more, ISO 8601, by id: the start of the last complete
 * sweep before the suspicion, which listed them, or the row's last change, whichever is later.
 */
export async function sightingsBeforeSuspicion(
  sql: Sql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const { table, scope } = itemSql(list, dialect);
  const rows = await sql.query<{ id: string; changed_at: Date; missing_since: Date | null }>(
    `SELECT id, changed_at, missing_since FROM ${table}
     WHERE ${scope} AND id IN (SELECT value FROM ${dialect.texts('$2', 'ids')})`,
    inboxId,
    JSON.stringify(ids),
  );
  const seen = new Map(rows.map(({ id, changed_at }) => [id, changed_at.toISOString()]));
  for (const [since, suspects] of Map.groupBy(rows, (row) => row.missing_since?.toISOString() ?? null)) {
    if (since === null) continue;
    const [sweep] = await sql.query<{ started_at: Date }>(
      `SELECT started_at FROM sweeps
       WHERE list = $1 AND inbox_id IS NOT DISTINCT FROM $2 AND state = 'complete' AND without_id = 0
         AND finished_at < $3 ORDER BY id DESC LIMIT 1`,
      list,
      inboxId,
      iso(new Date(since)),
    );
    const listedAt = sweep?.started_at.toISOString() ?? '';
    for (const { id } of suspects) if (listedAt > (seen.get(id) ?? '')) seen.set(id, listedAt);
  }
  return seen;
}

/** When each returning item was last seen before it went missing: ISO 8601, by id. */
export async function sightingsBeforeLoss(
  sql: Sql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<{ item_id: string; previously_seen_at: Date }>(
    `SELECT item_id, previously_seen_at FROM changes
     WHERE list = $1 AND inbox_id IS NOT DISTINCT FROM $2
       AND ${dialect.oneOfFew('item_id', `SELECT value FROM ${dialect.texts('$3', 'ids')}`)}
       AND field = '${PRESENCE}' AND new_value = '${MISSING}' AND previously_seen_at IS NOT NULL
     ORDER BY id`,
    list,
    inboxId,
    JSON.stringify(ids),
  );
  return new Map(rows.map((row) => [row.item_id, row.previously_seen_at.toISOString()]));
}
