import { COPIED_LIST, type CopiedList } from '../reads/ages.ts';
import type { Read } from './lane.ts';

/** How current a list is (docs/sql.md, `freshness`). */
export interface ListFreshness extends CopiedList {
  readonly list: 'inboxes' | 'users' | 'tags' | 'conversations';
  /** Null for `inboxes`. */
  readonly inbox_id: string | null;
  readonly state: 'fresh' | 'stale' | 'never' | 'unknown';
}

/** Every list. */
export async function readFreshness(read: Read): Promise<ListFreshness[]> {
  return await read<ListFreshness>(`SELECT list, inbox_id, state, ${COPIED_LIST} FROM freshness`);
}
