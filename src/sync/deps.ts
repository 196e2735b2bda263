import type { Budget } from '../core/budget.ts';
import type { Clock } from '../core/clock.ts';
import type { Reason } from '../core/ledger.ts';
import type { ListKey } from '../core/lists.ts';
import type { Writer } from '../mirror/mirror.ts';
import type { CallOptions, Client, Page } from '../service/client.ts';
import type { AccountCheck } from './account/account.ts';
import type { PassEvent, RowCounts } from './events.ts';

/** A walk that must not pause: the pages that its list had, the pages that it may have, and those read. */
export interface StreakPlan {
  readonly known: number;
  readonly expected: number;
  readonly read: number;
}

export interface PageCall extends CallOptions {
  /** Default: the walk may pause before this page. */
  readonly streak?: StreakPlan | undefined;
}

/** The service's client. A daemon's client lets each request wait for the pace first. */
export interface SweepClient extends Omit<Client, 'listPage'> {
  listPage(list: ListKey, token: string | null, options: PageCall): Promise<Page>;
}

/** The dependencies of a sweep. */
export interface SweepDeps {
  readonly client: SweepClient;
  readonly mirror: Writer;
  readonly account: AccountCheck;
  readonly clock: Clock;
  /** Two sweeps are independent witnesses if this many ms lie between them (GONE_AFTER). */
  readonly goneAfterMs: number;
  readonly onEvent: (event: PassEvent) => void;
  readonly signal: AbortSignal;
}

export interface PassDeps extends SweepDeps {
  /**
   * With it, broken lists rest (`PastSweeps.throwIfResting`), and a pass may read lists again that were read
   * long ago (`isOutdated`, `isReadAgain`). Absent for an order: the daemon's schedules do both.
   */
  readonly budget?: Budget;
  /** Called before the pass sweeps the list of inboxes, which its spec need not name. */
  readonly beforeInboxes?: () => Promise<void>;
}

export interface SweepOptions {
  readonly reason: Reason;
  /** The pass with which a person has accepted deletions (`Suspects.accepted`); null: none. */
  readonly acceptedBy: number | null;
  /** A person has accepted the account that the service shows. */
  readonly acceptAccount: boolean;
}

/** The options of a scheduled sweep: no person has accepted deletions or an account for it. */
export const SCHEDULED: SweepOptions = { reason: 'schedule', acceptedBy: null, acceptAccount: false };

/** Rows that a sweep has changed so far. */
export interface Tally {
  inserted: number;
  changed: number;
  deleted: number;
}

/** Counts the rows of a committed write, and reports them. */
export function countRows(
  { onEvent }: Pick<SweepDeps, 'onEvent'>,
  key: ListKey,
  tally: Tally,
  rows: RowCounts,
): void {
  tally.inserted += rows.inserted ?? 0;
  tally.changed += rows.changed ?? 0;
  tally.deleted += rows.deleted ?? 0;
  onEvent({ kind: 'rows', key, rows });
}
