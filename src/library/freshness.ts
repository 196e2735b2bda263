import type { ListName } from '../core/lists.ts';
import type { ReadOnlyClient } from '../database/read-only.ts';

/** How current one list is (docs/sql.md, `freshness`). */
export interface ListFreshness {
  readonly list: ListName;
  /** Null for the list of inboxes. */
  readonly inboxId: string | null;
  /**
   * End of the last complete sweep, or the oldest reading among its pages if that is later or over 12 hours
   * earlier; null: never complete.
   */
  readonly completeAsOf: Date | null;
  /** Seconds since then. */
  readonly ageSeconds: number | null;
  readonly state: 'fresh' | 'stale' | 'never' | 'unknown';
  /** Of conversations: how often one of them was seen to have changed in the last 24 hours; else null. */
  readonly changes: number | null;
  /**
   * How many seconds late these changes were seen at most: half of them, and 95 % of them. A change fell
   * between two sightings. Null with fewer than ten changes.
   */
  readonly medianDelaySeconds: number | null;
  readonly p95DelaySeconds: number | null;
}

/** Reads the view `freshness`. */
export async function readFreshness(client: ReadOnlyClient): Promise<ListFreshness[]> {
  const rows = await client.freshness.findMany();
  return rows.map((row) => ({
    list: row.list as ListName,
    inboxId: row.inbox_id,
    completeAsOf: row.complete_as_of,
    ageSeconds: row.age_seconds,
    state: row.state as ListFreshness['state'],
    changes: row.changes,
    medianDelaySeconds: row.median_delay_seconds,
    p95DelaySeconds: row.p95_delay_seconds,
  }));
}
