import { MISSING, PRESENCE } from '../../core/diff.ts';
import type { ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import { compareIds, sqlOrder } from '../bookmarks/order.ts';
import { sinceComplete } from '../sweeps/sweeps.ts';
import { itemSql } from './statements.ts';
import { readUnlisted } from './suspects/unlisted.ts';

/**
 * A list keeps its order from sweep to sweep, so most items are near their last page. The first search
 * covers this many pages to either side, the second one more.
 */
const NEARBY_PAGES = [2, 20];

/** The numbers of stored sightings that belong to no page of a walk. */
const NO_PAGE: PageRange = { from: -(2 ** 31), to: -1 };

/** Stores a sighting that belongs to no page of a walk. @param seenAt an instant of the database */
export async function storeSighting(
  tx: Sql,
  sweepId: number,
  ids: readonly string[],
  seenAt: string,
): Promise<void> {
  await tx.execute(
    `INSERT INTO sweep_pages (sweep_id, page_no, item_ids, fetched_at)
     SELECT $1, COALESCE(MIN(page_no), 0) - 1, $2, $3 FROM sweep_pages
     WHERE sweep_id = $1 AND page_no < 0`,
    sweepId,
    JSON.stringify(ids),
    seenAt,
  );
}

const ALL_PAGES: PageRange = { from: 1, to: 2 ** 31 - 1 };

interface PageRange {
  readonly from: number;
  readonly to: number;
}

/**
 * When each item was last seen, ISO 8601, by id: when the newest stored page that holds it was read, in a
 * sweep of whatever state or by its bookmark, or when the service returned it as an unlisted row. Other items
 * are left out.
 * @param near the items' present page, around which the search begins; null to search all pages at once
 */
export async function lastSightings(
  sql: Sql,
  dialect: Dialect,
  key: ListKey,
  ids: readonly string[],
  near: number | null,
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const seen = new Sightings();
  if (near === null) {
    seen.add(await seenByBookmarks(sql, dialect, key, ids));
    const oldest = seen.oldest();
    if (oldest !== null) {
      const search = { ids, pages: null, nth: 1, after: oldest };
      seen.add(await seenBySweeps(sql, dialect, key, search));
    }
  } else {
    for (const reach of NEARBY_PAGES) {
      const pages = { from: near - reach, to: near + reach };
      seen.add(await seenBySweeps(sql, dialect, key, { ids: seen.lacks(ids), pages, nth: 1 }));
    }
    seen.add(await seenByBookmarks(sql, dialect, key, ids));
    seen.add(await seenBySweeps(sql, dialect, key, { ids, pages: NO_PAGE, nth: 1 }));
  }
  seen.add(await seenBySweeps(sql, dialect, key, { ids: seen.lacks(ids), pages: null, nth: 2 }));
  const unlisted = await readUnlisted(sql, key);
  seen.add(
    ids.flatMap((id) => {
      const at = unlisted.get(id)?.returnedAt;
      return at === undefined ? [] : { id, at };
    }),
  );
  return seen.byId;
}

/** Those of a list's items that its last complete sweep listed, or one after it. */
export async function listedByLast(
  sql: Sql,
  dialect: Dialect,
  key: ListKey,
  ids: readonly string[],
): Promise<Set<string>> {
  const found = await seenBySweeps(sql, dialect, key, { ids, pages: ALL_PAGES, nth: 1 });
  return new Set(found.map(({ id }) => id));
}

/** The newest sighting of each item so far, ISO 8601. */
class Sightings {
  readonly byId = new Map<string, string>();

  add(rows: readonly { readonly id: string; readonly at: Date }[]): void {
    for (const { id, at } of rows) {
      const instant = at.toISOString();
      if (instant > (this.byId.get(id) ?? '')) this.byId.set(id, instant);
    }
  }

  lacks(ids: readonly string[]): string[] {
    return ids.filter((id) => !this.byId.has(id));
  }

  oldest(): Date | null {
    const [first] = [...this.byId.values()].sort();
    return first === undefined ? null : new Date(first);
  }
}

interface PageSearch {
  readonly ids: readonly string[];
  /** Null: all pages. */
  readonly pages: PageRange | null;
  /** Searches the `nth` last complete sweep (1 is the last) and all later ones. */
  readonly nth: number;
  /** Only pages that were fetched after this. */
  readonly after?: Date;
}

async function seenBySweeps(
  sql: Sql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  { ids, pages, nth, after }: PageSearch,
): Promise<{ id: string; at: Date }[]> {
  if (ids.length === 0) return [];
  return await sql.query<{ id: string; at: Date }>(
    `SELECT held.value AS id, pages.fetched_at AS at
     FROM sweep_pages AS pages, ${dialect.texts('pages.item_ids', 'held')}
     WHERE ${dialect.oneOfFew('pages.sweep_id', `SELECT id FROM sweeps WHERE ${sinceComplete(nth)}`)}
       AND held.value IN (SELECT value FROM ${dialect.texts('$3', 'wanted')})
       ${pages === null ? '' : 'AND pages.page_no BETWEEN $4 AND $5'}
       ${after === undefined ? '' : `AND pages.fetched_at > $${pages === null ? 4 : 6}`}`,
    list,
    inboxId,
    JSON.stringify(ids),
    ...(pages === null ? [] : [pages.from, pages.to]),
    ...(after === undefined ? [] : [iso(after)]),
  );
}

/** Looks only at bookmarks whose page can hold one of the ids. */
async function seenByBookmarks(
  sql: Sql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  ids: readonly string[],
): Promise<{ id: string; at: Date }[]> {
  if (list !== 'conversations') return [];
  const sorted = ids.toSorted(compareIds);
  const [afterId, lastId, least, most] = ['after_id', 'last_id', '$3', '$4'].map(sqlOrder);
  return await sql.query<{ id: string; at: Date }>(
    `SELECT held.value AS id, read_at AS at
     FROM bookmarks JOIN bookmark_lists ON bookmark_lists.inbox_id = bookmarks.inbox_id,
       ${dialect.texts('bookmarks.item_ids', 'held')}
     WHERE bookmarks.inbox_id = $1
       AND held.value IN (SELECT value FROM ${dialect.texts('$2', 'wanted')})
       AND ((direction = 'asc' AND ${lastId} >= ${least} AND ${afterId} < ${most})
         OR (direction = 'desc' AND ${lastId} <= ${most} AND (after_id = '' OR ${afterId} > ${least})))`,
    inboxId,
    JSON.stringify(ids),
    sorted.at(0),
    sorted.at(-1),
  );
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
    // `finished_at` of a round is its oldest reading, which can precede the one that made the suspicion.
    const [sweep] = await sql.query<{ started_at: Date }>(
      `SELECT started_at FROM sweeps
       WHERE list = $1 AND inbox_id IS NOT DISTINCT FROM $2 AND state = 'complete' AND without_id = 0
         AND heartbeat_at < $3 ORDER BY id DESC LIMIT 1`,
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
