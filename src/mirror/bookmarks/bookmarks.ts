import type { Database } from '../../database/database.ts';
import type { FencedDatabase } from '../lease.ts';
import { OPEN_SWEEP } from '../sweeps/states.ts';
import type { PageToApply } from '../items/page.ts';
import { type AppliedPage, applyBookmark, believeBookmark } from './apply.ts';
import { type Bookmark, parseJson } from './bookmark.ts';
import { type LossCause, loseBookmarks } from './lay.ts';
import { mergeIntoBefore } from './move.ts';
import { compareIds, type Direction } from './order.ts';
import type { PageSuspect } from './range.ts';
import { completeRound } from './rounds.ts';

/** A bookmark, and how many rows of each kind its page held when it was last read. */
export interface StoredBookmark extends Bookmark {
  readonly kinds: readonly number[];
}

/** A list whose pages are not read singly. */
export interface LostBookmarks {
  readonly inboxId: string;
  readonly lostAt: Date;
  readonly cause: LossCause;
}

/** The rows of a list that the newest readings of its pages could not read. */
export interface UnreadableRows {
  readonly rejected: number;
  /** Those of them without a readable id. */
  readonly withoutId: number;
  /** Those of them that the mirror has, as an earlier reading had them. */
  readonly known: number;
}

/** After this many refused tokens in one round the list's tokens count as expiring. */
const MOST_REFUSED = 5;

/**
 * The second page that does not begin where its bookmark says proves that the tokens are positions. A round
 * or a walk without such a page begins the count again.
 */
const MOST_MISTAKEN = 2;

/** Reads the bookmarks of all lists. */
export class BookmarkReader {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The bookmarks of live inboxes, or of one of them, by inbox, each list in its order. Lists that a sweep
   * walks are left out.
   */
  async all(only?: string): Promise<Map<string, StoredBookmark[]>> {
    const rows = await this.#database.query<{
      inbox_id: string;
      after_id: string;
      token: string | null;
      direction: Direction;
      read_at: Date;
      baseline_at: Date;
      kinds: string | number[];
    }>(
      `SELECT bookmarks.inbox_id, after_id, token, direction, read_at, baseline_at, kinds
       FROM bookmarks
       JOIN bookmark_lists ON bookmark_lists.inbox_id = bookmarks.inbox_id AND lost_at IS NULL
       JOIN inboxes ON inboxes.id = bookmarks.inbox_id AND inboxes.deleted_at IS NULL
         AND inboxes.missing_since IS NULL
       WHERE ${only === undefined ? 'TRUE' : 'bookmarks.inbox_id = $1'}
         AND NOT EXISTS (SELECT 1 FROM sweeps WHERE list = 'conversations'
           AND sweeps.inbox_id = bookmarks.inbox_id AND state IN ${OPEN_SWEEP})`,
      ...(only === undefined ? [] : [only]),
    );
    const bookmarks = rows.map((row): StoredBookmark => ({
      inboxId: row.inbox_id,
      afterId: row.after_id,
      token: row.token,
      direction: row.direction,
      readAt: row.read_at.getTime(),
      baselineAt: row.baseline_at.getTime(),
      kinds: parseJson(row.kinds),
    }));
    const byInbox = Map.groupBy(bookmarks, ({ inboxId }) => inboxId);
    for (const list of byInbox.values()) list.sort(inListOrder);
    return byInbox;
  }

  /** The oldest reading among the pages of each list, by inbox. */
  async oldestReadings(): Promise<Map<string, Date>> {
    const rows = await this.#database.query<{ inbox_id: string; oldest: Date }>(
      `SELECT bookmarks.inbox_id, min(read_at) AS oldest
       FROM bookmarks
       JOIN bookmark_lists ON bookmark_lists.inbox_id = bookmarks.inbox_id AND lost_at IS NULL
       GROUP BY bookmarks.inbox_id`,
    );
    return new Map(rows.map(({ inbox_id, oldest }) => [inbox_id, new Date(oldest)]));
  }

  /** The rows that could not be read on the pages of each list, by inbox. A list without any is left out. */
  async unreadableRows(): Promise<Map<string, UnreadableRows>> {
    // An open or failed walk may have met the same rows. Those without an id are counted by their page.
    const rows = await this.#database.query<{
      inbox_id: string;
      with_id: number;
      without_id: number;
      known: number;
    }>(
      `SELECT rejects.inbox_id, count(DISTINCT item_id) AS with_id,
         count(CASE WHEN item_id IS NULL THEN 1 END) AS without_id,
         count(DISTINCT conversations.id) AS known
       FROM rejects
       JOIN bookmark_lists ON bookmark_lists.inbox_id = rejects.inbox_id AND lost_at IS NULL
       LEFT JOIN conversations ON conversations.inbox_id = rejects.inbox_id
         AND conversations.id = item_id AND deleted_at IS NULL
       WHERE list = 'conversations' AND (item_id IS NOT NULL
         OR (rejects.inbox_id, seen_at) IN (SELECT inbox_id, read_at FROM bookmarks))
       GROUP BY rejects.inbox_id`,
    );
    return new Map(
      rows.map(({ inbox_id, with_id, without_id, known }) => [
        inbox_id,
        { rejected: with_id + without_id, withoutId: without_id, known },
      ]),
    );
  }

  /** The lists whose pages are not read singly. */
  async lost(): Promise<LostBookmarks[]> {
    const rows = await this.#database.query<{ inbox_id: string; lost_at: Date; lost_cause: LossCause }>(
      `SELECT inbox_id, lost_at, lost_cause FROM bookmark_lists WHERE lost_at IS NOT NULL`,
    );
    return rows.map(({ inbox_id, lost_at, lost_cause }) => ({
      inboxId: inbox_id,
      lostAt: lost_at,
      cause: lost_cause,
    }));
  }
}

/** Applies pages that were read singly, for the holder of the lease. */
export class Bookmarks extends BookmarkReader {
  readonly #fenced: FencedDatabase;

  constructor(fenced: FencedDatabase) {
    super(fenced.database);
    this.#fenced = fenced;
  }

  /** Applies a page whole or not at all, and moves the bookmarks of its range. */
  async apply(bookmark: Bookmark, page: PageToApply, readAt: number): Promise<AppliedPage> {
    return await applyBookmark(this.#fenced, bookmark, page, readAt);
  }

  /**
   * Marks the rows that a page lacks although it has `shrunk`, and moves its bookmarks.
   * @returns its suspects
   */
  async believe(bookmark: Bookmark, page: PageToApply, readAt: number): Promise<readonly PageSuspect[]> {
    return await believeBookmark(this.#fenced, bookmark, page, readAt);
  }

  /** Completes the list's round if every page has been read since the schedule's slot. */
  async completeRound(inboxId: string, slot: Date): Promise<boolean> {
    return await this.#fenced.write((tx) => completeRound(tx, inboxId, slot));
  }

  /**
   * Records that the service refused a bookmark's token.
   * @returns why the list has lost all its bookmarks; null if it has not
   */
  async recordRefusal(bookmark: Bookmark, now: number): Promise<LossCause | null> {
    const { database, write } = this.#fenced;
    return await write(async (tx) => {
      await tx.execute(
        `UPDATE bookmark_lists SET refused = refused + 1 WHERE inbox_id = $1`,
        bookmark.inboxId,
      );
      const [list] = await tx.query<{ refused: number }>(
        `SELECT refused FROM bookmark_lists WHERE inbox_id = $1`,
        bookmark.inboxId,
      );
      const cause = (list?.refused ?? 0) >= MOST_REFUSED ? 'expiry' : null;
      if (cause === null) await mergeIntoBefore(tx, database.dialect, bookmark, now);
      else await loseBookmarks(tx, bookmark.inboxId, cause, now);
      return cause;
    });
  }

  /**
   * Records that a page does not begin where its bookmark says: it begins earlier, or lacks at its start a
   * row that the page before shows.
   * @returns why the list has lost its bookmarks
   */
  async recordMistake({ inboxId }: Bookmark, now: number): Promise<LossCause> {
    return await this.#fenced.write(async (tx) => {
      await tx.execute(`UPDATE bookmark_lists SET mistaken = mistaken + 1 WHERE inbox_id = $1`, inboxId);
      const [list] = await tx.query<{ mistaken: number }>(
        `SELECT mistaken FROM bookmark_lists WHERE inbox_id = $1`,
        inboxId,
      );
      const cause = (list?.mistaken ?? 0) >= MOST_MISTAKEN ? 'positions' : 'doubt';
      await loseBookmarks(tx, inboxId, cause, now);
      return cause;
    });
  }

  /**
   * Records that the list's pages are no longer read singly. The next complete sweep lays new bookmarks;
   * after a fault of the tokens, the first one a week later.
   * @returns the cause
   */
  async lose({ inboxId }: Bookmark, cause: LossCause, now: number): Promise<LossCause> {
    await this.#fenced.write((tx) => loseBookmarks(tx, inboxId, cause, now));
    return cause;
  }
}

function inListOrder(a: Bookmark, b: Bookmark): number {
  if (a.afterId === '' || b.afterId === '') return a.afterId === '' ? -1 : 1;
  const compared = compareIds(a.afterId, b.afterId);
  return a.direction === 'asc' ? compared : -compared;
}
