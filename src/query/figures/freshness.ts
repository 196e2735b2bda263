import { ROWS_UNDER_WAY } from '../reads/ages.ts';
import type { Read } from './lane.ts';

/** How current a list is (docs/sql.md, `freshness`). */
export interface ListFreshness {
  readonly list: 'inboxes' | 'users' | 'tags' | 'conversations';
  /** Null for `inboxes`. */
  readonly inbox_id: string | null;
  /** ISO 8601 UTC; null: the list was never complete. */
  readonly complete_as_of: string | null;
  readonly state: 'fresh' | 'stale' | 'never' | 'unknown';
  /** Rows read so far of all lists under way. */
  readonly rows_under_way: number;
}

/** Every list. */
export async function readFreshness(read: Read): Promise<ListFreshness[]> {
  return await read<ListFreshness>(
    `SELECT list, inbox_id, complete_as_of, state, ${ROWS_UNDER_WAY} AS rows_under_way FROM freshness`,
  );
}
