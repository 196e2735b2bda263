import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { iso } from '../../database/instants.ts';
import type { UnlistedRow } from '../items/suspects/closed-walk.ts';
import type { Suspect } from '../items/suspects/suspects.ts';
import { forgetListed } from '../items/suspects/unlisted.ts';
import type { Bookmark } from './bookmark.ts';
import { countKinds, type SeenRow } from './kinds.ts';
import { moveBookmarks, type PlacedPage } from './move.ts';
import { type Direction, isBetween, isBeyond, sqlBeyond, sqlOrder, sqlRanges } from './order.ts';

/** A suspect of a single page. */
export interface PageSuspect extends Suspect {
  /**
   * Where the page lacks it. `start`: if the service still has it, the page no longer begins where it did.
   * `end`: if the service still has it, the answer was cut. Null: between two rows of the page.
   */
  readonly side: 'start' | 'end' | null;
}

/** A row that a page should hold. */
interface ExpectedRow {
  readonly id: string;
  readonly missingSince: Date | null;
}

/** The live rows that a page should hold and lacks. */
export interface Lacking {
  readonly lacking: readonly ExpectedRow[];
  /** Those of them that the service has not returned all the same. */
  readonly absent: readonly PageSuspect[];
  readonly unlisted: readonly UnlistedRow[];
}

/** Finds the rows that a page lacks. */
export async function findLacking(
  tx: Sql,
  dialect: Dialect,
  { bookmark, ids, reach, round }: PlacedPage,
): Promise<Lacking> {
  const present = new Set(ids);
  const lacking = (await readRange(tx, bookmark, reach)).filter(({ id }) => !present.has(id));
  const returned = await forgetListed(tx, dialect, round, (id) => present.has(id));
  return {
    lacking,
    absent: lacking
      .filter(({ id, missingSince }) => missingSince !== null || !returned.has(id))
      .map((row) => ({ ...row, askBy: null, side: sideOf(bookmark.direction, row.id, ids) })),
    unlisted: lacking.flatMap(({ id, missingSince }) => {
      const times = missingSince === null ? returned.get(id) : undefined;
      return times === undefined ? [] : { id, askBy: null, missingSince: null, ...times };
    }),
  };
}

interface Settled extends Pick<Lacking, 'lacking'> {
  readonly suspects: readonly PageSuspect[];
  /** The page's known rows. */
  readonly rows: readonly SeenRow[];
}

/** Marks the suspects of a page, drops the rejects that it lacks, and moves the bookmarks of its range. */
export async function settleRange(
  tx: Sql,
  dialect: Dialect,
  placed: PlacedPage,
  { lacking, suspects, rows }: Settled,
): Promise<void> {
  const { bookmark, readAt } = placed;
  const kinds = countKinds(rows, { at: readAt, baselineAt: bookmark.baselineAt });
  await markSuspects(tx, dialect, bookmark.inboxId, suspects, readAt);
  await dropAbsentRejects(tx, dialect, placed);
  await moveBookmarks(tx, dialect, { ...placed, kinds, lacking });
}

function sideOf(direction: Direction, id: string, ids: readonly string[]): PageSuspect['side'] {
  const [first] = ids;
  if (isBetween(direction, id, ids)) return null;
  return first !== undefined && isBeyond(direction, first, id) ? 'start' : 'end';
}

/**
 * Deletes the rows that earlier readings could not read in the range of a page, and that it lacks now. Rows
 * without an id stay: nothing shows that the page lacks them.
 */
async function dropAbsentRejects(
  tx: Sql,
  { texts }: Dialect,
  { bookmark: { inboxId, direction, afterId }, ids, reach }: PlacedPage,
): Promise<void> {
  const beyond = sqlBeyond(direction);
  const bounds = boundsOf(afterId, reach);
  const isBeyondStart = afterId === '' ? 'TRUE' : `${sqlOrder('item_id')} ${beyond} ${sqlOrder('$3')}`;
  const last = sqlOrder(`$${bounds.length + 2}`);
  const isWithinReach = reach === null ? 'TRUE' : `NOT ${sqlOrder('item_id')} ${beyond} ${last}`;
  await tx.execute(
    `DELETE FROM rejects WHERE list = 'conversations' AND inbox_id = $1 AND item_id IS NOT NULL
       AND ${isBeyondStart} AND ${isWithinReach}
       AND item_id NOT IN (SELECT value FROM ${texts('$2', 'ids')})`,
    inboxId,
    JSON.stringify(ids),
    ...bounds,
  );
}

/** The ids that bound the range of a page: none before the first page, and none after the last. */
function boundsOf(afterId: string, reach: string | null): string[] {
  return [afterId, reach].flatMap((bound) => (bound === null || bound === '' ? [] : [bound]));
}

/** The live rows in the range of a page. @param reach the page's last id; null: the end of the list */
async function readRange(
  tx: Sql,
  { inboxId, direction, afterId }: Bookmark,
  reach: string | null,
): Promise<ExpectedRow[]> {
  const bounds = boundsOf(afterId, reach);
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
  readAt: number,
): Promise<void> {
  const unmarked = suspects.filter(({ missingSince: since }) => since === null).map(({ id }) => id);
  if (unmarked.length === 0) return;
  await tx.execute(
    `UPDATE conversations SET missing_since = $3
     WHERE inbox_id = $1 AND id IN (SELECT value FROM ${dialect.texts('$2', 'ids')})`,
    inboxId,
    JSON.stringify(unmarked),
    iso(readAt),
  );
}
