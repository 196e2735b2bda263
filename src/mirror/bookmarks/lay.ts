import { DAY } from '../../core/clock.ts';
import type { ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import { parseJson, writeBookmarks } from './bookmark.ts';
import { countKinds, UNREAD } from './kinds.ts';
import { type Direction, directionOf } from './order.ts';
import { readSeenRows } from './rows.ts';

/** A list whose tokens do not lead to the same rows again is read by sweeps for this many ms. */
const LOST_FOR_MS = 7 * DAY;

/**
 * Why the pages of a list are not read singly: its ids have no strict order, a page was not as expected, a
 * token led to other rows than before, or tokens are refused after a time. The first two end with the next
 * complete sweep.
 */
export type LossCause = 'order' | 'doubt' | 'positions' | 'expiry';

/** The rows of this many pages are read at once. */
const PAGES_AT_ONCE = 50;

interface WalkedPage {
  readonly token: string | null;
  readonly ids: readonly string[];
  readonly fetchedAt: Date;
}

/**
 * Lays the bookmarks of a list of conversations after a complete walk, or removes them if the walk shows that
 * its ids have no strict order.
 */
export async function layBookmarks(
  tx: Sql,
  dialect: Dialect,
  { list, inboxId, id }: ListKey & { readonly id: number },
  now: number,
): Promise<void> {
  if (list !== 'conversations' || inboxId === null) return;
  const known = await readLoss(tx, inboxId);
  const isTokenFault = known?.cause === 'positions' || known?.cause === 'expiry';
  await tx.execute(`DELETE FROM bookmarks WHERE inbox_id = $1`, inboxId);
  if (known !== null && isTokenFault && now < known.lostAt.getTime() + LOST_FOR_MS) return;
  const pages = await readPages(tx, id);
  const direction = directionOf(pages.flatMap(({ ids }) => ids));
  // An empty page has no last id after which the next page could begin.
  if (direction === null || pages.slice(0, -1).some(({ ids }) => ids.length === 0)) {
    await loseBookmarks(tx, inboxId, 'order', now);
    return;
  }
  // A walk that a mistake has caused itself clears no suspicion.
  const forgives = isTokenFault || known === null;
  const baselineAt = await writeList(tx, inboxId, direction, forgives);
  for (let from = 0; from < pages.length; from += PAGES_AT_ONCE)
    await writePages(tx, dialect, { inboxId, baselineAt, pages, from });
}

/**
 * Records that, and why, a list has lost its bookmarks. Their rows remain until the next complete sweep: they
 * say when each item was last seen.
 */
export async function loseBookmarks(tx: Sql, inboxId: string, cause: LossCause, now: number): Promise<void> {
  await tx.execute(
    `INSERT INTO bookmark_lists (inbox_id, direction, baseline_at, lost_at, lost_cause)
     VALUES ($1, 'asc', $2, $2, $3)
     ON CONFLICT (inbox_id) DO UPDATE SET lost_at = excluded.lost_at, lost_cause = excluded.lost_cause`,
    inboxId,
    iso(now),
    cause,
  );
}

async function readLoss(tx: Sql, inboxId: string): Promise<{ lostAt: Date; cause: LossCause } | null> {
  const [row] = await tx.query<{ lost_at: Date; lost_cause: LossCause }>(
    `SELECT lost_at, lost_cause FROM bookmark_lists WHERE inbox_id = $1 AND lost_at IS NOT NULL`,
    inboxId,
  );
  return row === undefined ? null : { lostAt: row.lost_at, cause: row.lost_cause };
}

async function readPages(tx: Sql, sweepId: number): Promise<WalkedPage[]> {
  const rows = await tx.query<{ token: string | null; item_ids: string | string[]; fetched_at: Date }>(
    `SELECT token, item_ids, fetched_at FROM sweep_pages WHERE sweep_id = $1 AND page_no > 0
     ORDER BY page_no`,
    sweepId,
  );
  return rows.map(({ token, item_ids: ids, fetched_at }) => ({
    token,
    ids: parseJson(ids),
    fetchedAt: fetched_at,
  }));
}

/**
 * @param forgives earlier mistakes do not count any more
 * @returns when the first complete sweep of the list ended, epoch ms
 */
async function writeList(tx: Sql, inboxId: string, direction: Direction, forgives: boolean): Promise<number> {
  await tx.execute(
    `INSERT INTO bookmark_lists (inbox_id, direction, baseline_at)
     SELECT $1, $2, min(finished_at) FROM sweeps
     WHERE list = 'conversations' AND inbox_id = $1 AND state = 'complete'
     ON CONFLICT (inbox_id) DO UPDATE SET direction = excluded.direction,
       baseline_at = excluded.baseline_at, refused = 0, lost_at = NULL, lost_cause = NULL
       ${forgives ? ', mistaken = 0' : ''}`,
    inboxId,
    direction,
  );
  const [row] = await tx.query<{ baseline_at: Date }>(
    `SELECT baseline_at FROM bookmark_lists WHERE inbox_id = $1`,
    inboxId,
  );
  return row?.baseline_at.getTime() ?? 0;
}

async function writePages(
  tx: Sql,
  dialect: Dialect,
  walk: { inboxId: string; baselineAt: number; pages: readonly WalkedPage[]; from: number },
): Promise<void> {
  const { inboxId, baselineAt, pages, from } = walk;
  const batch = pages.slice(from, from + PAGES_AT_ONCE);
  const seen = await readSeenRows(
    tx,
    dialect,
    inboxId,
    batch.flatMap(({ ids }) => ids),
  );
  const byId = new Map(seen.map((row) => [row.id, row]));
  const rows = batch.map(({ token, ids, fetchedAt }, index) => ({
    after_id: pages[from + index - 1]?.ids.at(-1) ?? '',
    token,
    last_id: ids.at(-1) ?? null,
    item_ids: JSON.stringify(ids),
    read_at: iso(fetchedAt),
    // An empty page behind a token may have been a fault: it is read once more.
    kinds: JSON.stringify(
      ids.length === 0 && token !== null
        ? UNREAD
        : countKinds(
            ids.flatMap((id) => byId.get(id) ?? []),
            { at: fetchedAt.getTime(), baselineAt },
          ),
    ),
  }));
  await writeBookmarks(tx, dialect, inboxId, rows);
}
