import { BUDGET_WINDOW_MS } from '../core/budget.ts';
import type { GateState } from '../core/gate-state.ts';
import { keysOf, LIST_NAMES, listId, type ListKey, type ListName } from '../core/lists.ts';
import type { Database } from '../database/database.ts';
import { iso } from '../database/instants.ts';
import { readLoopState } from './gate/loop-state.ts';
import type { Outage } from './gate/outage.ts';
import { type LeaseHolder, readLease } from './lease.ts';
import { type Schedule, ScheduleReader } from './schedules.ts';
import { type LatestSweep, openAndComplete, SweepHistory } from './sweeps/latest.ts';

/** The state of one list. */
export interface ListStatus {
  readonly list: ListName;
  readonly inboxId: string | null;
  readonly inbox: string | null;
  /** False if the service has lost access to the mailbox, so that nothing new arrives (SERVICE-NOTES.md). */
  readonly authorised: boolean | null;
  readonly completeAsOf: Date | null;
  /** Rows and pages of the last complete sweep. */
  readonly rows: number | null;
  readonly pages: number | null;
  /** Unreadable rows of the latest sweep, and rows that wait for their second witness. */
  readonly rejected: number;
  readonly suspects: number;
  /** The sweep in progress. */
  readonly sweep: LatestSweep | null;
  /** Why the latest sweep failed; null if it did not. */
  readonly failure: string | null;
}

export interface MirrorStatus {
  readonly lists: readonly ListStatus[];
  readonly sent: number;
  /** When the oldest request leaves the window of the budget. */
  readonly oldestLeavesAt: Date | null;
  readonly gate: GateState;
  readonly lease: LeaseHolder | null;
  /** Passes that have not ended; `startedAt` is null for an order that the daemon has not begun. */
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

/** Reads everything that `status` shows from the database. It sends no request. */
export async function readStatus(database: Database, now: number): Promise<MirrorStatus> {
  const window = iso(now - BUDGET_WINDOW_MS);
  const [budget] = await database.query<{ sent: number; oldest: string | Date | null }>(
    `SELECT count(*) AS sent, min(sent_at) AS oldest FROM requests WHERE sent_at > $1`,
    window,
  );
  // Not through the typed client: the daemon runs this all day, and the client would cost it 40 MB.
  const passes = await database.query<PassRow>(
    `SELECT id, kind, requested_by, requested_at, started_at, ordered FROM sync_requests
     WHERE state IN ('open', 'running') ORDER BY id`,
  );
  const { gate, outage } = await readLoopState(database);
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
    schedules: await new ScheduleReader(database).all(),
    outage,
  };
}

async function readLists(database: Database): Promise<ListStatus[]> {
  const inboxes = await database.query<{
    id: string;
    display_name: string | null;
    is_authorised: boolean | null;
  }>(`SELECT id, display_name, is_authorised FROM inboxes WHERE deleted_at IS NULL ORDER BY length(id), id`);
  const sweeps = await new SweepHistory(database).latest();
  const suspects = await countSuspectsByList(database);
  const names = new Map(inboxes.map((inbox) => [inbox.id, inbox]));
  return keysOf(LIST_NAMES, [...names.keys()]).map((key) => {
    const inbox = key.inboxId === null ? undefined : names.get(key.inboxId);
    return describe(key, inbox?.display_name ?? null, inbox?.is_authorised ?? null, sweeps, suspects);
  });
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
