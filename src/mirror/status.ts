import { HOUR } from '../core/clock.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { GateState } from '../core/gate-state.ts';
import { keysByInbox, LIST_NAMES, listId, type ListKey, type ListName, TABLES } from '../core/lists.ts';
import type { Database } from '../database/database.ts';
import type { OtherAccount } from './gate/account.ts';
import { BookmarkReader } from './bookmarks/bookmarks.ts';
import { readCoverDays } from './bookmarks/rounds.ts';
import { BudgetReader } from './gate/budget-use.ts';
import { type FailingPages, readFailingPages } from './gate/answers/failing-pages.ts';
import { readLoopState } from './gate/loop-state.ts';
import type { Outage } from './gate/outage.ts';
import { type Inbox, liveInboxes } from './items/inboxes.ts';
import { IS_SUSPECT } from './items/suspects/suspects.ts';
import { itemSql } from './items/statements.ts';
import { countUnlisted } from './items/suspects/unlisted.ts';
import { type LeaseHolder, readLease } from './lease.ts';
import type { PassSpec } from './passes/passes.ts';
import { OPEN_PASS } from './passes/states.ts';
import { type Schedule, ScheduleReader } from './schedules.ts';
import {
  type FailedSweeps,
  type LatestSweep,
  newestSweep,
  openAndComplete,
  SweepReader,
} from './sweeps/reader.ts';

/**
 * A walk of at most this many ms counts from its end, a longer one from its oldest page. The view `freshness`
 * has the figure too.
 */
const COUNTS_FROM_END_MS = 12 * HOUR;

/** The state of one list. */
export interface ListStatus extends ListKey {
  readonly inbox: string | null;
  /** False if the service has lost access to the mailbox, so that nothing new arrives (docs/service.md). */
  readonly authorised: boolean | null;
  readonly completeAsOf: Date | null;
  /** Rows and pages of the last complete sweep. */
  readonly rows: number | null;
  readonly pages: number | null;
  /** Rows that could not be read: of the latest sweep, or of the newest reading of each single page. */
  readonly rejected: number;
  /** Rejected rows without a readable id: while there are any, the list, or their page, deletes nothing. */
  readonly withoutId: number;
  /** Rows that wait for their second witness. */
  readonly suspects: number;
  /** Since when the longest of them has waited; null if none waits. */
  readonly missingSince: Date | null;
  /** Live rows that the list leaves out, although the service returns them when it is asked for them. */
  readonly unlisted: number;
  /** Suspects of the last complete sweep that wait for a person before they are marked as deleted. */
  readonly held: number;
  /** The sweep in progress. */
  readonly sweep: LatestSweep | null;
  /** Why the latest sweep failed, or the latest reading of a single page; null if it did not. */
  readonly failure: string | null;
  readonly failureCode: ErrorCode | null;
  /** Its single pages fail; null if they do not. */
  readonly failingPages: FailingPages | null;
  /** The sweeps that have failed since the list was last complete; null if none has. */
  readonly failures: FailedSweeps | null;
  /** Its newest sweep of each state, newest first. */
  readonly newestByState: readonly LatestSweep[];
}

export interface MirrorStatus {
  readonly lists: readonly ListStatus[];
  /** Requests in the window of the day's budget. */
  readonly sent: number;
  /** When the oldest request leaves that window. */
  readonly oldestLeavesAt: Date | null;
  readonly gate: GateState;
  readonly lease: LeaseHolder | null;
  /** Passes that have not ended. `startedAt` is null for an order that no daemon has begun. */
  readonly openPasses: readonly {
    readonly id: number;
    readonly kind: PassSpec['kind'];
    readonly requestedBy: string;
    readonly requestedAt: Date;
    readonly startedAt: Date | null;
    readonly ordered: boolean;
  }[];
  readonly schedules: readonly Schedule[];
  readonly outage: Outage | null;
  readonly otherAccount: OtherAccount | null;
  /** Over how many days one reading of every page of conversations is spread. */
  readonly coverDays: number;
}

interface PassRow {
  id: number;
  kind: PassSpec['kind'];
  requested_by: string;
  requested_at: Date;
  started_at: Date | null;
  ordered: boolean;
}

/** Reads everything that `status` shows. It sends no request. */
export async function readStatus(database: Database, now: number): Promise<MirrorStatus> {
  const budget = new BudgetReader(database);
  const sent = await budget.sentInWindow(now);
  // Raw SQL, because the daemon runs this all day and the typed client would cost it 40 MB.
  const passes = await database.query<PassRow>(
    `SELECT id, kind, requested_by, requested_at, started_at, ordered FROM sync_requests
     WHERE state IN ${OPEN_PASS} ORDER BY id`,
  );
  const { gate, outage, otherAccount } = await readLoopState(database);
  return {
    lists: await readLists(database, now),
    sent,
    oldestLeavesAt: sent === 0 ? null : await budget.leavesWindowAt(1, now),
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
    otherAccount,
    coverDays: await readCoverDays(database),
  };
}

async function readLists(database: Database, now: number): Promise<ListStatus[]> {
  const inboxes = new Map((await liveInboxes(database)).map((inbox) => [inbox.id, inbox]));
  const reader = new SweepReader(database);
  const sweeps = await reader.latest();
  const suspects = await suspectsByList(database);
  const unlisted = await countUnlisted(database);
  const bookmarks = new BookmarkReader(database);
  const readings = await bookmarks.oldestReadings();
  const unreadable = await bookmarks.unreadableRows();
  const failingPages = await readFailingPages(database, now);
  const lists: ListStatus[] = [];
  for (const key of keysByInbox([...inboxes.values()])) {
    const inbox = key.inboxId === null ? undefined : inboxes.get(key.inboxId);
    const id = listId(key);
    const newestByState = sweeps.get(id) ?? [];
    const failures = await reader.failedSweeps(key, newestByState);
    const status = statusOf(key, inbox, {
      newestByState,
      failures,
      failingPages: key.list === 'conversations' ? (failingPages.get(key.inboxId ?? '') ?? null) : null,
      unlisted: (await leftOutByEmpty(database, key, newestByState)) ?? unlisted.get(id) ?? 0,
      ...(suspects.get(id) ?? NO_SUSPECTS),
    });
    const reading = key.list === 'conversations' ? readings.get(key.inboxId ?? '') : undefined;
    if (reading === undefined) lists.push(status);
    else {
      const rows = unreadableOf(status, unreadable.get(key.inboxId ?? ''));
      lists.push({ ...status, ...rows, completeAsOf: asOf(status.completeAsOf, reading) });
    }
  }
  return lists;
}

/**
 * The unreadable rows of a list whose pages are read singly. Until its latest walk is complete, rows without
 * an id count by the pages or by the walk, whichever has more: both may have met the same ones.
 */
function unreadableOf(
  { newestByState, withoutId: ofWalk }: Pick<ListStatus, 'newestByState' | 'withoutId'>,
  { rejected, withoutId }: Pick<ListStatus, 'rejected' | 'withoutId'> = { rejected: 0, withoutId: 0 },
): Pick<ListStatus, 'rejected' | 'withoutId'> {
  const isComplete = newestSweep(newestByState)?.state === 'complete';
  const more = isComplete ? 0 : Math.max(0, ofWalk - withoutId);
  return { rejected: rejected + more, withoutId: withoutId + more };
}

/** The live rows of a list that was empty, of which only those that were asked for are stored; else null. */
async function leftOutByEmpty(
  database: Database,
  { list, inboxId }: ListKey,
  newestByState: readonly LatestSweep[],
): Promise<number | null> {
  if (openAndComplete(newestByState).complete?.items !== 0) return null;
  const { table, scope } = itemSql(list, database.dialect);
  const [row] = await database.query<{ n: number }>(
    `SELECT count(*) AS n FROM ${table} WHERE ${scope} AND deleted_at IS NULL AND missing_since IS NULL`,
    inboxId,
  );
  return row?.n ?? 0;
}

type SuspectsOfList = Pick<ListStatus, 'suspects' | 'missingSince'>;

const NO_SUSPECTS: SuspectsOfList = { suspects: 0, missingSince: null };

async function suspectsByList(database: Database): Promise<Map<string, SuspectsOfList>> {
  const rows = await database.query<{
    list: ListName;
    inbox_id: string | null;
    n: number;
    since: Date | null;
  }>(
    LIST_NAMES.map((list) => {
      const inboxId = list === 'inboxes' ? 'NULL' : 'inbox_id';
      return `SELECT '${list}' AS list, ${inboxId} AS inbox_id, count(*) AS n, min(missing_since) AS since
        FROM ${TABLES[list]} WHERE ${IS_SUSPECT} ${list === 'inboxes' ? '' : 'GROUP BY inbox_id'}`;
    }).join(' UNION ALL '),
  );
  return new Map(
    rows.map(({ list, inbox_id: inboxId, n, since }) => [
      listId({ list, inboxId }),
      { suspects: n, missingSince: since === null ? null : new Date(since) },
    ]),
  );
}

/**
 * A list is complete as of the end of its last complete sweep, or of the oldest reading among its pages if
 * that is later. After a walk of more than `COUNTS_FROM_END_MS` the reading counts also if it is earlier: an
 * interrupted walk may have read its first pages weeks ago.
 */
function asOf(sweep: Date | null, reading: Date): Date | null {
  if (sweep === null) return sweep;
  const walkMs = sweep.getTime() - reading.getTime();
  return walkMs < 0 || walkMs > COUNTS_FROM_END_MS ? reading : sweep;
}

/**
 * Held rows of single pages are not counted together: each of the list's suspects may be one. A round begins
 * with what the last complete sweep held.
 */
function heldRows(
  { round, complete }: Readonly<Record<'round' | 'complete', Pick<LatestSweep, 'held'> | undefined>>,
  suspects: number,
): number {
  if (round !== undefined) return round.held > 0 ? suspects : 0;
  return Math.min(complete?.held ?? 0, suspects);
}

function statusOf(
  { list, inboxId }: ListKey,
  inbox: Inbox | undefined,
  {
    newestByState,
    failures,
    failingPages,
    suspects,
    missingSince,
    unlisted,
  }: SuspectsOfList & Pick<ListStatus, 'newestByState' | 'failures' | 'failingPages' | 'unlisted'>,
): ListStatus {
  const { open, complete } = openAndComplete(newestByState);
  const newest = newestSweep(newestByState);
  const round = newestByState.find(({ state }) => state === 'reading');
  return {
    list,
    inboxId,
    inbox: inbox?.name ?? null,
    authorised: inbox?.authorised ?? null,
    completeAsOf: complete?.finishedAt ?? null,
    rows: complete?.items ?? null,
    pages: complete?.pages ?? null,
    rejected: newest?.rejected ?? 0,
    withoutId: newest?.withoutId ?? 0,
    suspects,
    missingSince,
    unlisted,
    held: heldRows({ round, complete }, suspects),
    sweep: open ?? null,
    failure: newest?.state === 'failed' ? newest.error : (failingPages?.cause ?? null),
    failureCode: newest?.state === 'failed' ? newest.errorCode : null,
    failingPages,
    failures,
    newestByState,
  };
}
