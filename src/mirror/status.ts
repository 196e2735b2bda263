import { BUDGET_WINDOW_MS } from '../core/budget.ts';
import type { GateState } from '../core/gate-state.ts';
import { listId, type ListKey, type ListName } from '../core/lists.ts';
import type { Database } from '../database/database.ts';
import { iso } from '../database/instants.ts';
import { glance } from './gate/glance.ts';
import type { Outage } from './gate/outage.ts';
import { type LeaseHolder, readLease } from './lease.ts';
import { readSchedules, type Schedule } from './schedules.ts';
import { type LatestSweep, latestSweeps, openAndComplete } from './sweeps/latest.ts';

/** What the mirror knows of one list. */
export interface ListStatus {
  readonly list: ListName;
  readonly inboxId: string | null;
  readonly inbox: string | null;
  /** False where the service has lost access to the mailbox: nothing new arrives (SERVICE-NOTES.md). */
  readonly authorised: boolean | null;
  readonly completeAsOf: Date | null;
  /** Rows and pages of the last complete sweep. */
  readonly rows: number | null;
  readonly pages: number | null;
  /** Rows that could not be read in the latest sweep, and rows that wait for their second witness. */
  readonly rejected: number;
  readonly suspects: number;
  /** The sweep in progress. */
  readonly sweep: LatestSweep | null;
  /** Why the latest sweep failed, where it did. */
  readonly failure: string | null;
}

export interface MirrorStatus {
  readonly lists: readonly ListStatus[];
  readonly sent: number;
  /** When the oldest request leaves the window of the budget. */
  readonly oldestLeavesAt: Date | null;
  readonly gate: GateState;
  readonly lease: LeaseHolder | null;
  /** Passes that were asked for and have not ended; `startedAt` is null for an order that waits to be begun. */
  readonly openPasses: readonly {
    readonly id: number;
    readonly kind: string;
    readonly requestedBy: string;
    readonly requestedAt: Date;
    readonly startedAt: Date | null;
    readonly ordered: boolean;
  }[];
  readonly schedules: readonly Schedule[];
  readonly outage: Outage | null;
}

interface PassRow {
  id: number;
  kind: string;
  requested_by: string;
  requested_at: Date;
  started_at: Date | null;
  ordered: boolean;
}

/** Everything that `status` tells, from the database alone: no request is sent. */
export async function readStatus(database: Database, now: number): Promise<MirrorStatus> {
  const window = iso(now - BUDGET_WINDOW_MS);
  const [budget] = await database.query<{ sent: number; oldest: string | Date | null }>(
    `SELECT count(*) AS sent, min(sent_at) AS oldest FROM requests WHERE sent_at > $1`,
    window,
  );
  // Not through the typed client: the daemon asks this all day, and need not carry the client's 40 MB for it.
  const passes = await database.query<PassRow>(
    `SELECT id, kind, requested_by, requested_at, started_at, ordered FROM sync_requests WHERE state IN ('open', 'running') ORDER BY id`,
  );
  const { gate, outage } = await glance(database);
  return {
    lists: await readLists(database),
    sent: budget?.sent ?? 0,
    oldestLeavesAt: budget?.oldest ? new Date(new Date(budget.oldest).getTime() + BUDGET_WINDOW_MS) : null,
    gate,
    lease: await readLease(database),
    openPasses: passes.map(({ id, kind, ordered, ...row }) => ({
      id,
      kind,
      ordered,
      requestedBy: row.requested_by,
      requestedAt: row.requested_at,
      startedAt: row.started_at,
    })),
    schedules: await readSchedules(database),
    outage,
  };
}

async function readLists(database: Database): Promise<ListStatus[]> {
  const inboxes = await database.query<{
    id: string;
    display_name: string | null;
    is_authorised: boolean | null;
  }>(`SELECT id, display_name, is_authorised FROM inboxes WHERE deleted_at IS NULL ORDER BY length(id), id`);
  const sweeps = await latestSweeps(database);
  const suspects = await countSuspectsByList(database);
  const all: ListStatus[] = [describe({ list: 'inboxes', inboxId: null }, null, null, sweeps, suspects)];
  for (const { id, display_name, is_authorised } of inboxes) {
    for (const list of ['users', 'tags', 'conversations'] as const)
      all.push(describe({ list, inboxId: id }, display_name, is_authorised, sweeps, suspects));
  }
  return all;
}

async function countSuspectsByList(database: Database): Promise<Map<string, number>> {
  const waiting = `missing_since IS NOT NULL AND deleted_at IS NULL`;
  const rows = await database.query<{ list: ListName; inbox_id: string | null; n: number }>(
    `SELECT 'inboxes' AS list, NULL AS inbox_id, count(*) AS n FROM inboxes WHERE ${waiting}
     UNION ALL SELECT 'users', inbox_id, count(*) FROM inbox_users WHERE ${waiting} GROUP BY inbox_id
     UNION ALL SELECT 'tags', inbox_id, count(*) FROM inbox_tags WHERE ${waiting} GROUP BY inbox_id
     UNION ALL SELECT 'conversations', inbox_id, count(*) FROM conversations WHERE ${waiting} GROUP BY inbox_id`,
  );
  return new Map(rows.map((row) => [listId({ list: row.list, inboxId: row.inbox_id }), row.n]));
}

function describe(
  key: ListKey,
  inbox: string | null,
  authorised: boolean | null,
  sweeps: ReadonlyMap<string, readonly LatestSweep[]>,
  suspects: ReadonlyMap<string, number>,
): ListStatus {
  const own = sweeps.get(listId(key)) ?? [];
  const { open, complete } = openAndComplete(own);
  const [latest] = own;
  return {
    list: key.list,
    inboxId: key.inboxId,
    inbox,
    authorised,
    completeAsOf: complete?.finishedAt ?? null,
    rows: complete?.items ?? null,
    pages: complete?.pages ?? null,
    rejected: latest?.rejected ?? 0,
    suspects: suspects.get(listId(key)) ?? 0,
    sweep: open ?? null,
    failure: latest?.state === 'failed' ? latest.error : null,
  };
}
