import type { Database, Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import { type PageToApply, writeRejects } from '../items/page.ts';
import type { UnlistedRow } from '../items/suspects/closed-walk.ts';
import type { Suspect } from '../items/suspects/suspects.ts';
import { forgetListed } from '../items/suspects/unlisted.ts';
import { type AppliedItems, applyItems } from '../items/upsert.ts';
import type { FencedDatabase, FencedSql } from '../lease.ts';
import type { Sweep } from '../sweeps/sweeps.ts';
import type { Bookmark } from './bookmark.ts';
import { countKinds, type SeenRow } from './kinds.ts';
import { loseBookmarks } from './lay.ts';
import { moveBookmarks, tileBefore } from './move.ts';
import { compareIds, type Direction, isBetween, isBeyond, sqlRanges } from './order.ts';
import { openRound } from './rounds.ts';
import { readSeenRows } from './rows.ts';

/** A suspect of a single page. */
export interface PageSuspect extends Suspect {
  /**
   * Where the page lacks it. `start`: if the service still has it, the page no longer begins where it did.
   * `end`: if the service still has it, the answer was cut. Null: between two rows of the page.
   */
  readonly side: 'start' | 'end' | null;
}

/** A single page, applied. */
export interface AppliedPage {
  /** The round, with the time of this reading as its start: witnesses are compared with the page. */
  readonly round: Sweep;
  readonly applied: AppliedItems;
  /** Live rows that the page should have held. If it has `shrunk`, they are not marked as suspects. */
  readonly suspects: readonly PageSuspect[];
  /** Rows that are no suspects, because the service has returned them although the page lacked them. */
  readonly unlisted: readonly UnlistedRow[];
  /**
   * The page lacks so many rows that only a whole sweep may judge them; null if it does not. `rows`: the list
   * has lost its bookmarks. `end`: it lacks them after its last row, as an empty or cut answer does; its
   * bookmarks stay.
   */
  readonly shrunk: 'rows' | 'end' | null;
  /** The token of the page before, if this one lacks rows at its start; undefined: there is none. */
  readonly tokenBefore: string | null | undefined;
  /** The page's known rows, as they were before. */
  readonly before: readonly SeenRow[];
  /** How many changes each row of `before` shows, by id; a row without one is left out. */
  readonly changes: ReadonlyMap<string, number>;
}

/** If a page lacks more rows than this that were no suspects before, a walk must judge them. */
const MOST_MISSING = 10;

/** A row that a page should hold. */
interface ExpectedRow {
  readonly id: string;
  readonly missingSince: Date | null;
}

/**
 * Applies a page that was read singly, in one transaction: its rows and their changes as those of a sweep,
 * the rows that it should hold and lacks as suspects, and the bookmarks of its range.
 */
export async function applyBookmark(
  fenced: FencedDatabase,
  bookmark: Bookmark,
  page: PageToApply,
  now: number,
): Promise<AppliedPage> {
  const { database, write } = fenced;
  const { inboxId, direction } = bookmark;
  const ids = presentIds(page, direction);
  const reach = page.next === null ? null : (ids.at(-1) ?? null);
  const result = await write(async (tx): Promise<AppliedPage> => {
    const round = await openRound(tx, inboxId, now);
    const before = await readSeenRows(tx, database.dialect, inboxId, ids);
    await dropRejects(tx, database.dialect, bookmark, page);
    const applied = await applyRows(tx, database, round, page, now);
    const expected = await readRange(tx, bookmark, reach);
    const present = new Set(ids);
    const lacking = expected.filter(({ id }) => !present.has(id));
    const returned = await forgetListed(tx, database.dialect, round, (id) => present.has(id));
    const absent = lacking
      .filter(({ id, missingSince }) => missingSince !== null || !returned.has(id))
      .map((row) => ({ ...row, askBy: null, side: sideOf(direction, row.id, ids) }));
    const shrunk = shrinkageOf(absent);
    const startsLate = absent.some(({ side }) => side === 'start');
    const tokenBefore = startsLate ? (await tileBefore(tx, bookmark))?.token : undefined;
    const isWhole = page.rejects.every(({ id }) => id !== null);
    const suspects = isWhole ? absent : [];
    const after = await readSeenRows(tx, database.dialect, inboxId, ids);
    if (shrunk === 'rows') await loseBookmarks(tx, inboxId, 'doubt', now);
    else if (shrunk === null) {
      const kinds = countKinds(after, { at: now, baselineAt: bookmark.baselineAt });
      await markSuspects(tx, database.dialect, inboxId, suspects, now);
      await moveBookmarks(tx, database.dialect, { bookmark, page, ids, reach, kinds, lacking, round, now });
    }
    const changedAt = new Map(after.map((row) => [row.id, row.changedAt]));
    return {
      round: { ...round, startedAt: new Date(now) },
      applied,
      suspects,
      unlisted: lacking.flatMap(({ id, missingSince }) => {
        const times = missingSince === null ? returned.get(id) : undefined;
        return times === undefined ? [] : { id, askBy: null, missingSince: null, ...times };
      }),
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

function sideOf(direction: Direction, id: string, ids: readonly string[]): PageSuspect['side'] {
  const [first] = ids;
  if (isBetween(direction, id, ids)) return null;
  return first !== undefined && isBeyond(direction, first, id) ? 'start' : 'end';
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
  round: Sweep,
  page: PageToApply,
  now: number,
): Promise<AppliedItems> {
  const observedAt = iso(now);
  const { list, inboxId, id: sweepId } = round;
  const context = { list, inboxId, sweepId, baseline: false, observedAt, pageNo: null };
  const applied = await applyItems(tx, database.dialect, context, page.items);
  await writeRejects(tx, database, round, page, observedAt);
  await tx.execute(
    `UPDATE sweeps SET pages = pages + 1, requests = requests + $2, inserted = inserted + $3,
       changed = changed + $4, rejected = rejected + $5, heartbeat_at = $6
     WHERE id = $1`,
    round.id,
    page.attempts,
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

/** The live rows in the range of a page. @param reach the page's last id; null: the end of the list */
async function readRange(
  tx: Sql,
  { inboxId, direction, afterId }: Bookmark,
  reach: string | null,
): Promise<ExpectedRow[]> {
  const bounds = [afterId, reach].filter((bound) => bound !== null && bound !== '');
  const ranges = sqlRanges(
    { direction, after: afterId, reach },
    { after: '$2', reach: `$${bounds.length + 1}` },
  );
  if (ranges.length === 0) return [];
  const rows = await tx.query<{ id: string; missing_since: Date | null }>(
    ranges
      .map(
        (range) =>
          `SELECT id, missing_since FROM conversations
           WHERE inbox_id = $1 AND deleted_at IS NULL AND ${range}`,
      )
      .join(' UNION ALL '),
    inboxId,
    ...bounds,
  );
  return rows.map(({ id, missing_since }) => ({ id, missingSince: missing_since }));
}

async function markSuspects(
  tx: Sql,
  dialect: Dialect,
  inboxId: string,
  suspects: readonly ExpectedRow[],
  now: number,
): Promise<void> {
  const unmarked = suspects.filter(({ missingSince: since }) => since === null).map(({ id }) => id);
  if (unmarked.length === 0) return;
  await tx.execute(
    `UPDATE conversations SET missing_since = $3
     WHERE inbox_id = $1 AND id IN (SELECT value FROM ${dialect.texts('$2', 'ids')})`,
    inboxId,
    JSON.stringify(unmarked),
    iso(now),
  );
}
