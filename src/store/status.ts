import { BUDGET_WINDOW_MS, type GateState } from '../core/ledger.ts';
import type { ListName } from '../core/lists.ts';
import type { Database } from './sql.ts';
import { type LeaseHolder, readLease } from './leases.ts';
import { ledgerOf } from './ledger.ts';
import { iso } from './rows.ts';

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
  readonly sweep: {
    readonly state: string;
    readonly pages: number;
    readonly items: number;
    readonly startedAt: Date;
    readonly error: string | null;
  } | null;
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
  /** Passes that began and did not end. */
  readonly openPasses: readonly { readonly kind: string; readonly requestedBy: string; readonly startedAt: Date }[];
}

interface SweepRow {
  list: ListName;
  inbox_id: string | null;
  state: string;
  pages: number;
  items: number;
  rejected: number;
  started_at: Date;
  finished_at: Date | null;
  error: string | null;
}

/** Everything that `status` tells, from the database alone: no request is sent. */
export async function readStatus(database: Database, now: number): Promise<MirrorStatus> {
  const window = iso(now - BUDGET_WINDOW_MS);
  const [budget] = await database.query<{ sent: number; oldest: string | null }>(
    `SELECT count(*) AS sent, min(sent_at) AS oldest FROM requests WHERE sent_at > $1`,
    window,
  );
  const passes = await database.typed((client) =>
    client.sync_requests.findMany({
      where: { state: 'running', started_at: { not: null } },
      select: { kind: true, requested_by: true, started_at: true },
      orderBy: { id: 'asc' },
    }),
  );
  return {
    lists: await readLists(database),
    sent: budget?.sent ?? 0,
    oldestLeavesAt: budget?.oldest ? new Date(Date.parse(budget.oldest) + BUDGET_WINDOW_MS) : null,
    gate: await ledgerOf(database).state(),
    lease: await readLease(database),
    openPasses: passes.map((row) => ({
      kind: row.kind,
      requestedBy: row.requested_by,
      startedAt: row.started_at ?? new Date(now),
    })),
  };
}

/** Requests that the ledger holds since an instant (epoch ms). */
export async function countSent(database: Database, since: number): Promise<number> {
  const [row] = await database.query<{ sent: number }>(`SELECT count(*) AS sent FROM requests WHERE sent_at > $1`, iso(since));
  return row?.sent ?? 0;
}

async function readLists(database: Database): Promise<ListStatus[]> {
  const inboxes = await database.query<{ id: string; display_name: string | null; is_authorised: boolean | null }>(
    `SELECT id, display_name, is_authorised FROM inboxes WHERE deleted_at IS NULL ORDER BY length(id), id`,
  );
  const sweeps = await latestSweeps(database);
  const suspects = await countSuspectsByList(database);
  const all: ListStatus[] = [describe('inboxes', null, null, null, sweeps, suspects)];
  for (const { id, display_name, is_authorised } of inboxes) {
    for (const list of ['users', 'tags', 'conversations'] as const)
      all.push(describe(list, id, display_name, is_authorised, sweeps, suspects));
  }
  return all;
}

const keyOf = (list: ListName, inboxId: string | null): string => `${list}/${inboxId ?? ''}`;

/** Of every list the newest sweep of each state. */
async function latestSweeps(database: Database): Promise<Map<string, SweepRow[]>> {
  const rows = await database.query<SweepRow>(
    `SELECT list, inbox_id, state, pages, items, rejected, started_at, finished_at, error FROM sweeps
     WHERE id IN (SELECT max(id) FROM sweeps GROUP BY list, inbox_id, state) ORDER BY id DESC`,
  );
  return Map.groupBy(rows, (row) => keyOf(row.list, row.inbox_id));
}

async function countSuspectsByList(database: Database): Promise<Map<string, number>> {
  const waiting = `missing_since IS NOT NULL AND deleted_at IS NULL`;
  const rows = await database.query<{ list: ListName; inbox_id: string | null; n: number }>(
    `SELECT 'inboxes' AS list, NULL AS inbox_id, count(*) AS n FROM inboxes WHERE ${waiting}
     UNION ALL SELECT 'users', inbox_id, count(*) FROM inbox_users WHERE ${waiting} GROUP BY inbox_id
     UNION ALL SELECT 'tags', inbox_id, count(*) FROM inbox_tags WHERE ${waiting} GROUP BY inbox_id
     UNION ALL SELECT 'conversations', inbox_id, count(*) FROM conversations WHERE ${waiting} GROUP BY inbox_id`,
  );
  return new Map(rows.map((row) => [keyOf(row.list, row.inbox_id), row.n]));
}

function describe(
  list: ListName,
  inboxId: string | null,
  inbox: string | null,
  authorised: boolean | null,
  sweeps: ReadonlyMap<string, SweepRow[]>,
  suspects: ReadonlyMap<string, number>,
): ListStatus {
  const own = sweeps.get(keyOf(list, inboxId)) ?? [];
  const complete = own.find(({ state }) => state === 'complete');
  const open = own.find(({ state }) => state === 'running' || state === 'paused');
  const [latest] = own;
  return {
    list,
    inboxId,
    inbox,
    authorised,
    completeAsOf: complete?.finished_at ?? null,
    rows: complete?.items ?? null,
    pages: complete?.pages ?? null,
    rejected: latest?.rejected ?? 0,
    suspects: suspects.get(keyOf(list, inboxId)) ?? 0,
    sweep:
      open === undefined
        ? null
        : { state: open.state, pages: open.pages, items: open.items, startedAt: open.started_at, error: open.error },
    failure: latest?.state === 'failed' ? latest.error : null,
  };
}
