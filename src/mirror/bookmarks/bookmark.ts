import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import type { Direction } from './order.ts';

/** A page that can be read singly. */
export interface Bookmark {
  readonly inboxId: string;
  /** The page begins after this id; empty: at the start of the list. */
  readonly afterId: string;
  readonly token: string | null;
  readonly direction: Direction;
  /** When the page was last read, epoch ms. */
  readonly readAt: number;
  /** When the list's first complete sweep ended, epoch ms. */
  readonly baselineAt: number;
}

/** A row of `bookmarks` as it is written: JSON and instants as text. */
export interface BookmarkRow {
  readonly after_id: string;
  readonly token: string | null;
  readonly last_id: string | null;
  readonly item_ids: string;
  readonly read_at: string;
  readonly kinds: string;
}

const COLUMNS = {
  after_id: 'text',
  token: 'text',
  last_id: 'text',
  item_ids: 'json',
  read_at: 'instant',
  kinds: 'json',
} as const;

/** Inserts or replaces bookmarks. */
export async function writeBookmarks(
  tx: Sql,
  dialect: Dialect,
  inboxId: string,
  rows: readonly BookmarkRow[],
): Promise<void> {
  const columns = Object.keys(COLUMNS);
  const written = columns.filter((column) => column !== 'after_id');
  await tx.execute(
    `INSERT INTO bookmarks (inbox_id, ${columns.join(', ')})
     SELECT $1, ${columns.join(', ')} FROM ${dialect.records('$2', COLUMNS, 'new_bookmarks')} WHERE TRUE
     ON CONFLICT (inbox_id, after_id) DO UPDATE SET
       ${written.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    inboxId,
    JSON.stringify(rows),
  );
}

/** A JSON array as either database returns it. */
export function parseJson<Value>(json: string | readonly Value[]): readonly Value[] {
  return typeof json === 'string' ? (JSON.parse(json) as Value[]) : json;
}
