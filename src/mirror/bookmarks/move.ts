import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import type { PageToApply } from '../items/page.ts';
import { storeSighting } from '../items/sightings.ts';
import type { Sweep } from '../sweeps/sweeps.ts';
import { type Bookmark, type BookmarkRow, parseJson, writeBookmarks } from './bookmark.ts';
import { isUnread, UNREAD } from './kinds.ts';
import { type Direction, isBeyond, sqlBeyond, sqlOrder } from './order.ts';
import { openRound } from './rounds.ts';

/** A bookmark with what its page held when it was last read. */
interface Tile {
  readonly afterId: string;
  readonly ids: readonly string[];
  /** Epoch ms. */
  readonly readAt: number;
  readonly kinds: readonly number[];
}

interface StoredTile extends Tile {
  readonly token: string | null;
}

/** A page that was read by its bookmark, and its place in the list. */
export interface PlacedPage {
  readonly bookmark: Bookmark;
  readonly page: PageToApply;
  /** The page's ids, in the list's order. */
  readonly ids: readonly string[];
  /** The id to which the page reaches; null: the end of the list. */
  readonly reach: string | null;
  readonly round: Sweep;
  /** When the page was read, epoch ms. */
  readonly readAt: number;
}

interface Move extends PlacedPage {
  readonly kinds: readonly number[];
  /** Rows that the page should have held. */
  readonly lacking: readonly { readonly id: string }[];
}

/**
 * Moves the bookmarks of a page's range, so that they still divide the list without a gap. A bookmark whose
 * page was covered wholly is removed. If rows came in between, the page ends before the next bookmark: what
 * is left of its range gets the token of the next page, and keeps the age of the earlier reading. Behind a
 * page of which most rows are new may be any number of others: the rest counts as unread.
 */
export async function moveBookmarks(tx: Sql, dialect: Dialect, move: Move): Promise<void> {
  const { bookmark, ids, reach, readAt, kinds } = move;
  const { inboxId, afterId, direction, token } = bookmark;
  const [own, ...later] = await readTiles(tx, bookmark, reach);
  if (own?.afterId !== afterId) return;
  const covered = later.filter((_, index) => isCovered(direction, later[index + 1]?.afterId, reach));
  await keepSightings(tx, move, [own, ...later]);
  const next = later[covered.length];
  const hasRest = !isCovered(direction, next?.afterId, reach);
  const known = reach === null ? null : restOf(own, { direction, reach });
  // Rows that the page no longer reaches, because it had reached into the next one.
  if (known !== null && !hasRest) await keepSighting(tx, move.round, known.ids, own.readAt);
  const rows: BookmarkRow[] = [rowOf({ afterId, ids: sightedIds(move), readAt, kinds }, token)];
  const removed = [...covered];
  if (known !== null && hasRest) {
    const rest = isMostlyNew(ids, [own, ...covered]) ? { ...known, kinds: UNREAD } : known;
    const joins = next !== undefined && rest.ids.length + next.ids.length <= ids.length;
    rows.push(rowOf(joins ? await join(tx, move.round, rest, next) : rest, move.page.next));
    if (joins) removed.push(next);
  }
  if (removed.length > 0)
    await tx.execute(
      `DELETE FROM bookmarks WHERE inbox_id = $1
         AND after_id IN (SELECT value FROM ${dialect.texts('$2', 'removed')})`,
      inboxId,
      JSON.stringify(removed.map((tile) => tile.afterId)),
    );
  await writeBookmarks(tx, dialect, inboxId, rows);
}

/**
 * The page's ids without those of rows that cannot be read: these are present, but no sighting of content.
 */
function sightedIds({ ids, page }: Move): string[] {
  const unreadable = new Set(page.rejects.map(({ id }) => id));
  return ids.filter((id) => !unreadable.has(id));
}

/** The tile before that of a bookmark; undefined for the first one. */
export async function tileBefore(
  tx: Sql,
  { inboxId, afterId, direction }: Bookmark,
): Promise<StoredTile | undefined> {
  if (afterId === '') return undefined;
  const beyond = sqlBeyond(direction);
  const order = direction === 'asc' ? 'DESC' : 'ASC';
  const [before] = await readTilesWhere(
    tx,
    `inbox_id = $1 AND (after_id = '' OR ${sqlOrder('$2')} ${beyond} ${sqlOrder('after_id')})
       AND after_id <> $2
     ORDER BY after_id = '', length(after_id) ${order}, after_id ${order} LIMIT 1`,
    [inboxId, afterId],
  );
  return before;
}

/** Merges a bookmark into the one before it. The next reading of that page renews the token. */
export async function mergeIntoBefore(
  tx: Sql,
  dialect: Dialect,
  bookmark: Bookmark,
  now: number,
): Promise<void> {
  const { inboxId, afterId } = bookmark;
  const [dropped] = await readTilesWhere(tx, `inbox_id = $1 AND after_id = $2`, [inboxId, afterId]);
  const before = await tileBefore(tx, bookmark);
  if (dropped === undefined || before === undefined) return;
  await tx.execute(`DELETE FROM bookmarks WHERE inbox_id = $1 AND after_id = $2`, inboxId, afterId);
  const round = await openRound(tx, inboxId, now);
  await writeBookmarks(tx, dialect, inboxId, [rowOf(await join(tx, round, before, dropped), before.token)]);
}

/** True if the page reaches the end of a tile; undefined: the list's. */
function isCovered(direction: Direction, end: string | undefined, reach: string | null): boolean {
  if (reach === null) return true;
  return end !== undefined && !isBeyond(direction, end, reach);
}

/** True if most rows of a page were on none of the tiles that it covers. */
function isMostlyNew(ids: readonly string[], tiles: readonly Tile[]): boolean {
  const known = new Set(tiles.flatMap((tile) => tile.ids));
  return ids.filter((id) => !known.has(id)).length > ids.length / 2;
}

/** The part of a tile beyond the page. */
function restOf(own: Tile, { direction, reach }: { direction: Direction; reach: string }): Tile {
  const ids = own.ids.filter((id) => isBeyond(direction, id, reach));
  if (ids.length === 0) return { ...own, afterId: reach, ids, kinds: UNREAD };
  // The kinds of these rows are not known one by one: they get their share of the tile's.
  const share = ids.length / own.ids.length;
  return { ...own, afterId: reach, ids, kinds: own.kinds.map((rows) => rows * share) };
}

/** Joins two neighbouring tiles to one, as old as the older; the sightings of the newer one are kept. */
async function join(tx: Sql, round: Sweep, first: Tile, second: Tile): Promise<Tile> {
  const newer = first.readAt < second.readAt ? second : first;
  if (first.readAt !== second.readAt) await keepSighting(tx, round, newer.ids, newer.readAt);
  return {
    afterId: first.afterId,
    ids: [...first.ids, ...second.ids],
    readAt: Math.min(first.readAt, second.readAt),
    kinds: isUnread(first) ? UNREAD : first.kinds.map((rows, kind) => rows + (second.kinds[kind] ?? 0)),
  };
}

function rowOf({ afterId, ids, readAt, kinds }: Tile, token: string | null): BookmarkRow {
  return {
    after_id: afterId,
    token,
    last_id: ids.at(-1) ?? null,
    item_ids: JSON.stringify(ids),
    read_at: iso(readAt),
    kinds: JSON.stringify(kinds),
  };
}

/** The tile of a bookmark, those that begin within its page, and the next one, in the list's order. */
async function readTiles(
  tx: Sql,
  { inboxId, afterId, direction }: Bookmark,
  reach: string | null,
): Promise<StoredTile[]> {
  const beyond = sqlBeyond(direction);
  const order = direction === 'asc' ? 'ASC' : 'DESC';
  const own = await readTilesWhere(tx, `inbox_id = $1 AND after_id = $2`, [inboxId, afterId]);
  const isLater =
    afterId === ''
      ? `after_id <> $2`
      : `after_id <> '' AND ${sqlOrder('after_id')} ${beyond} ${sqlOrder('$2')}`;
  const inOrder = `ORDER BY length(after_id) ${order}, after_id ${order}`;
  if (reach === null) {
    const rest = await readTilesWhere(tx, `inbox_id = $1 AND ${isLater} ${inOrder}`, [inboxId, afterId]);
    return [...own, ...rest];
  }
  const isPast = `${sqlOrder('after_id')} ${beyond} ${sqlOrder('$3')}`;
  const bounds = [inboxId, afterId, reach];
  const within = await readTilesWhere(
    tx,
    `inbox_id = $1 AND ${isLater} AND NOT ${isPast} ${inOrder}`,
    bounds,
  );
  const next = await readTilesWhere(
    tx,
    `inbox_id = $1 AND ${isLater} AND ${isPast} ${inOrder} LIMIT 1`,
    bounds,
  );
  return [...own, ...within, ...next];
}

async function readTilesWhere(
  tx: Sql,
  condition: string,
  parameters: readonly unknown[],
): Promise<StoredTile[]> {
  const rows = await tx.query<{
    after_id: string;
    token: string | null;
    item_ids: string | string[];
    read_at: Date;
    kinds: string | number[];
  }>(`SELECT after_id, token, item_ids, read_at, kinds FROM bookmarks WHERE ${condition}`, ...parameters);
  return rows.map(({ after_id, token, item_ids, read_at, kinds }) => ({
    afterId: after_id,
    token,
    ids: parseJson(item_ids),
    readAt: read_at.getTime(),
    kinds: parseJson(kinds),
  }));
}

/** Keeps the earlier sightings of rows that the page lacks, or that cannot be read on it. */
async function keepSightings(tx: Sql, { lacking, page, round }: Move, tiles: readonly Tile[]): Promise<void> {
  const wanted = new Set([...lacking, ...page.rejects].map(({ id }) => id));
  for (const { ids, readAt } of tiles)
    await keepSighting(
      tx,
      round,
      ids.filter((id) => wanted.has(id)),
      readAt,
    );
}

/** Keeps a sighting that no bookmark shows any more. */
async function keepSighting(tx: Sql, round: Sweep, ids: readonly string[], seenAt: number): Promise<void> {
  if (ids.length > 0) await storeSighting(tx, round.id, ids, iso(seenAt));
}
