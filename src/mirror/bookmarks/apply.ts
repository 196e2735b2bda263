import type { Database, Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import { type PageToApply, writeRejects } from '../items/page.ts';
import type { UnlistedRow } from '../items/suspects/closed-walk.ts';
import { type AppliedItems, applyItems } from '../items/upsert.ts';
import type { FencedDatabase, FencedSql } from '../lease.ts';
import type { Sweep } from '../sweeps/sweeps.ts';
import type { Bookmark } from './bookmark.ts';
import type { SeenRow } from './kinds.ts';
import { type PlacedPage, tileBefore } from './move.ts';
import { compareIds, type Direction } from './order.ts';
import { findLacking, type PageSuspect, settleRange } from './range.ts';
import { openRound } from './rounds.ts';
import { readSeenRows } from './rows.ts';

/** A single page, applied. */
export interface AppliedPage {
  /** The round, with the time of this reading as its start: witnesses are compared with the page. */
  readonly round: Sweep;
  readonly applied: AppliedItems;
  /**
   * Live rows that the page should have held; none if a row of the page has no readable id. If the page has
   * `shrunk`, they are not marked as suspects yet.
   */
  readonly suspects: readonly PageSuspect[];
  /** Rows that are no suspects, because the service has returned them although the page lacked them. */
  readonly unlisted: readonly UnlistedRow[];
  /**
   * The page lacks so many rows that its answer may be wrong; null if it does not. `end`: it lacks them after
   * its last row, as an empty or cut answer does. The bookmarks have not moved: {@link believeBookmark} moves
   * them.
   */
  readonly shrunk: 'rows' | 'end' | null;
  /** The token of the page before, if this one lacks rows at its start; undefined: there is none. */
  readonly tokenBefore: string | null | undefined;
  /** The page's known rows, as they were before. */
  readonly before: readonly SeenRow[];
  /** How many changes each row of `before` shows, by id; a row without one is left out. */
  readonly changes: ReadonlyMap<string, number>;
}

/** If a page lacks more rows than this that were no suspects before, its answer may be wrong. */
const MOST_MISSING = 10;

/**
 * Applies a page that was read singly, in one transaction: its rows and their changes as those of a sweep,
 * the rows that it should hold and lacks as suspects, and the bookmarks of its range.
 * @param readAt when the page was read, epoch ms
 */
export async function applyBookmark(
  fenced: FencedDatabase,
  bookmark: Bookmark,
  page: PageToApply,
  readAt: number,
): Promise<AppliedPage> {
  const { database, write } = fenced;
  const { inboxId } = bookmark;
  const result = await write(async (tx): Promise<AppliedPage> => {
    const round = await openRound(tx, inboxId, readAt);
    const placed = placedPage({ bookmark, page, round, readAt });
    const { ids } = placed;
    const before = await readSeenRows(tx, database.dialect, inboxId, ids);
    await dropRejects(tx, database.dialect, bookmark, page);
    const applied = await applyRows(tx, database, placed);
    const { lacking, absent, unlisted } = await findLacking(tx, database.dialect, placed);
    const shrunk = shrinkageOf(absent);
    const startsLate = absent.some(({ side }) => side === 'start');
    const tokenBefore = startsLate ? (await tileBefore(tx, bookmark))?.token : undefined;
    const suspects = isWhole(page) ? absent : [];
    const after = await readSeenRows(tx, database.dialect, inboxId, ids);
    if (shrunk === null) await settleRange(tx, database.dialect, placed, { lacking, suspects, rows: after });
    const changedAt = new Map(after.map((row) => [row.id, row.changedAt]));
    return {
      round: { ...round, startedAt: new Date(readAt) },
      applied,
      suspects,
      unlisted,
      shrunk,
      tokenBefore,
      before,
      // A row can differ without a field that `changes` records: it counts as one.
      changes: new Map(
        before
          .filter((row) => changedAt.get(row.id) !== row.changedAt)
          .map(({ id }) => [id, Math.max(1, applied.changes.get(id) ?? 0)]),
      ),
    };
  });
  // As after a page of a sweep: the driver frees statements only when the event loop turns.
  await new Promise(setImmediate);
  return result;
}

/**
 * Marks the suspects of a page that has `shrunk`, and moves its bookmarks: the service has shown that the
 * page is right. Its rows are applied already.
 * @param readAt when the page was read, epoch ms
 */
export async function believeBookmark(
  { database: { dialect }, write }: FencedDatabase,
  bookmark: Bookmark,
  page: PageToApply,
  readAt: number,
): Promise<readonly PageSuspect[]> {
  const { inboxId } = bookmark;
  return await write(async (tx) => {
    const round = await openRound(tx, inboxId, readAt);
    const placed = placedPage({ bookmark, page, round, readAt });
    const { lacking, absent } = await findLacking(tx, dialect, placed);
    const suspects = isWhole(page) ? absent : [];
    const rows = await readSeenRows(tx, dialect, inboxId, placed.ids);
    await settleRange(tx, dialect, placed, { lacking, suspects, rows });
    return suspects;
  });
}

/** True if each row of the page has a readable id. Otherwise any row may be on the page. */
function isWhole({ rejects }: PageToApply): boolean {
  return rejects.every(({ id }) => id !== null);
}

function placedPage(read: Omit<PlacedPage, 'ids' | 'reach'>): PlacedPage {
  const { bookmark, page } = read;
  const ids = presentIds(page, bookmark.direction);
  return { ...read, ids, reach: page.next === null ? null : (ids.at(-1) ?? null) };
}

function shrinkageOf(suspects: readonly PageSuspect[]): AppliedPage['shrunk'] {
  const fresh = suspects.filter(({ missingSince }) => missingSince === null);
  if (fresh.length <= MOST_MISSING) return null;
  return fresh.filter(({ side }) => side !== 'end').length > MOST_MISSING ? 'rows' : 'end';
}

/** The ids of a page in the list's order, rows that cannot be read included. */
function presentIds({ items, rejects }: PageToApply, direction: Direction): string[] {
  const ids = [...items.map(({ id }) => id), ...rejects.flatMap(({ id }) => id ?? [])];
  const sorted = [...new Set(ids)].sort(compareIds);
  return direction === 'asc' ? sorted : sorted.toReversed();
}

/** Writes the rows of a page, and counts it for its round. */
async function applyRows(
  tx: FencedSql,
  database: Database,
  { round, page, readAt }: PlacedPage,
): Promise<AppliedItems> {
  const observedAt = iso(readAt);
  const { list, inboxId, id: sweepId } = round;
  const context = { list, inboxId, sweepId, baseline: false, observedAt, pageNo: null };
  const applied = await applyItems(tx, database.dialect, context, page.items);
  await writeRejects(tx, database, round, page, observedAt);
  await tx.execute(
    `UPDATE sweeps SET pages = pages + 1, requests = requests + $2, inserted = inserted + $3,
       changed = changed + $4, rejected = rejected + $5, heartbeat_at = $6
     WHERE id = $1`,
    round.id,
    page.requests,
    applied.inserted,
    applied.changed,
    page.rejects.length,
    observedAt,
  );
  const touched = applied.inserted + applied.changed;
  if (touched > 0)
    await tx.execute(`UPDATE requests SET changed = $2 WHERE id = $1`, page.requestId, touched);
  return applied;
}

/**
 * Deletes what earlier readings could not read of this page: its rows by their ids, and rows without one by
 * the time of the page's last reading.
 */
async function dropRejects(
  tx: Sql,
  { texts }: Dialect,
  { inboxId, readAt }: Bookmark,
  { items, rejects }: PageToApply,
): Promise<void> {
  const ids = [...items, ...rejects].flatMap(({ id }) => id ?? []);
  await tx.execute(
    `DELETE FROM rejects WHERE list = 'conversations' AND inbox_id = $1
       AND (item_id IN (SELECT value FROM ${texts('$2', 'ids')}) OR (item_id IS NULL AND seen_at = $3))`,
    inboxId,
    JSON.stringify(ids),
    iso(readAt),
  );
}
