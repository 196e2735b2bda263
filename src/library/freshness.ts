import type { ListName } from '../core/lists.ts';
import type { ReadOnlyClient } from '../database/read-only.ts';

/** How current one list is (docs/sql.md, `freshness`). */
export interface ListFreshness {
  readonly list: ListName;
  /** Null for the list of inboxes. */
  readonly inboxId: string | null;
  /** The end of the last complete sweep; null: none was ever complete. */
  readonly completeAsOf: Date | null;
  /** Seconds since then. */
  readonly ageSeconds: number | null;
  readonly state: 'fresh' | 'stale' | 'never' | 'unknown';
}

/** Reads the view `freshness`. */
export async function readFreshness(client: ReadOnlyClient): Promise<ListFreshness[]> {
  const rows = await client.freshness.findMany();
  return rows.map(({ list, inbox_id, complete_as_of, age_seconds, state }) => ({
    list: list as ListName,
    inboxId: inbox_id,
    completeAsOf: complete_as_of,
    ageSeconds: age_seconds,
    state: state as ListFreshness['state'],
  }));
}
