import type { Budget } from '../core/budget.ts';
import type { ListKey, ListName } from '../core/lists.ts';
import type { Ledger } from '../core/ledger.ts';
import type { Access } from '../core/secrets.ts';
import type { Database } from '../database/database.ts';
import { BookmarkReader, Bookmarks } from './bookmarks/bookmarks.ts';
import { readRates, type StoredRate, writeRates } from './bookmarks/rates.ts';
import { writeCoverDays } from './bookmarks/rounds.ts';
import { iso } from '../database/instants.ts';
import { type KnownAccount, proveAccount, readAccount, refuseAccount } from './gate/account.ts';
import { isProvenAddress, proveAddress } from './settings/address.ts';
import { type Credit, readCredit, writeCredit } from './settings/credit.ts';
import { BudgetReader } from './gate/budget-use.ts';
import { ensureMirrorId, readMirrorId } from './settings/identity.ts';
import { DatabaseLedger } from './gate/ledger.ts';
import { type LoopState, readLoopState } from './gate/loop-state.ts';
import { type Outage, writeOutage } from './gate/outage.ts';
import { type Failing, readFailing } from './gate/answers/failing.ts';
import { type FailingPages, readFailingPages } from './gate/answers/failing-pages.ts';
import { questionsRest } from './gate/answers/throttling.ts';
import { readWait, type Wait } from './gate/wait.ts';
import { type ActivitySpan, readActivity } from './history/activity.ts';
import { beginEpoch } from './history/epochs.ts';
import { findWrongDays, repairDays } from './history/days/check.ts';
import { type CountOptions, countDays } from './history/days/count.ts';
import { findWrongIntervals, repairIntervals, type WrongIntervals } from './history/intervals/check.ts';
import { readDelays, type SeenDelay } from './history/delays.ts';
import { Deliveries, DeliveryReader } from './history/deliveries.ts';
import { History } from './history/read.ts';
import { type DeletedRows, housekeep, isHousekeepingOverdue } from './housekeeping.ts';
import { type Inbox, liveInboxes } from './items/inboxes.ts';
import { Feed } from './history/feed.ts';
import { Names } from './items/names.ts';
import { applyPage, type PageToApply } from './items/page.ts';
import { SuspectReader, Suspects } from './items/suspects/suspects.ts';
import type { AppliedItems } from './items/upsert.ts';
import { acquireLease, type Claimant, fencedBy, type Lease, type LeaseHolder, readLease } from './lease.ts';
import { Orders } from './passes/orders.ts';
import { Passes } from './passes/passes.ts';
import { OrderSweeps } from './passes/order-sweeps.ts';
import { ScheduleReader, Schedules } from './schedules.ts';
import { type MirrorStatus, readStatus } from './status.ts';
import { SweepReader } from './sweeps/reader.ts';
import { type Sweep, Sweeps } from './sweeps/sweeps.ts';
import { keepSlots, type SlotPattern } from './settings/slots.ts';
import {
  keepViewSettings,
  type OtherSetting,
  otherViewSettings,
  recordedLimits,
  type ViewSettings,
} from './settings/views.ts';

// Functions that need no open mirror: the kinds and the order of conversations, the form of changes and
// webhooks, and checks of a cursor, of a lease, of sweeps and of passes.
export { AGE_EDGES, ageIndex, AGES, isUnread, kindOf, KINDS, NEVER } from './bookmarks/kinds.ts';
export { isBeyond, isInOrder } from './bookmarks/order.ts';
export { type Cursor, cursorAt, cursorText, readCursor, refuseForeignCursor } from './history/cursor.ts';
export { targetOf, wholeTargetOf } from './history/deliveries.ts';
export { cursorAfter } from './history/read.ts';
export { asNdjson, namedChangeAsJson } from './items/names.ts';
export { isLeaseValid, mayBeAlive } from './lease.ts';
export { inboxNotInService } from './items/inboxes.ts';
export { coversInbox } from './passes/scope.ts';
export { isCancelled, isWithdrawn } from './passes/orders.ts';
export { isOpenPass } from './passes/states.ts';
export { newFrom, offsetsBetween } from './settings/offsets.ts';
export { newestSweep, openAndComplete } from './sweeps/reader.ts';

/** The mirror as every process may use it: nothing here needs the lease. `now` is epoch ms. */
export interface Mirror extends Pick<Database, 'serverTime' | 'bytes' | 'lostFile' | 'endWrites' | 'close'> {
  /** For messages: the file or the address, without any password. */
  readonly name: string;
  readonly provider: 'sqlite' | 'postgresql';
  /** A random id that tells the mirror from an earlier one of the same name; null before `ensureId`. */
  id(): Promise<string | null>;
  /** Gives the mirror an id, unless it has one. */
  ensureId(): Promise<void>;
  /** The record of every request, and the gate's pauses. The gate reads and writes it. */
  readonly ledger: Ledger;
  /** Counts requests against the day's budget. */
  readonly budget: BudgetReader;
  /** The latest and the complete sweeps of each list. */
  readonly sweeps: SweepReader;
  /** The pages of conversations that can be read singly. */
  readonly bookmarks: BookmarkReader;
  /** Everything that the planner has learned of how often pages change. */
  rates(): Promise<StoredRate[]>;
  /** The rows that wait for their second witness, the unlisted ones, and what the service has answered. */
  readonly suspects: SuspectReader;
  /** The schedule of each kind of list, and its last two slots. */
  readonly schedules: ScheduleReader;
  /** Passes that the daemon is asked to do: place, read, withdraw, cancel. */
  readonly orders: Orders;
  /** The progress of an order, for the command that follows it. */
  readonly orderSweeps: OrderSweeps;
  /** The changes, by id or newest first. */
  readonly history: History;
  /** The names of what has changed. */
  readonly names: Names;
  /** The changes with their names, in batches of bounded size. */
  readonly feed: Feed;
  /**
   * Begins a new epoch of the changes after the newest one, for a person who knows that changes were lost.
   * @returns the epoch
   */
  beginEpoch(now: number): Promise<string>;
  /** Changes of conversations since an instant (epoch ms), by the hours between which they happened. */
  activity(since: number): Promise<ActivitySpan[]>;
  /** The requests that scheduled work had missed; null on a mirror that no daemon has served yet. */
  credit(): Promise<Credit | null>;
  /**
   * How late changes of conversations in the 24 hours before `now` (epoch ms) were seen at most, ascending.
   */
  delays(now: number): Promise<SeenDelay[]>;
  /**
   * Compares the stored intervals with those that `changes` define. It reads the whole history, which takes
   * about a minute for 4 million changes.
   */
  wrongIntervals(): Promise<WrongIntervals[]>;
  /** The counted days, such as `2026-03-02`, whose stored sums differ from the intervals and `changes`. */
  wrongDays(): Promise<string[]>;
  /** How far the webhook has delivered the changes to a target. */
  readonly deliveries: DeliveryReader;
  /** Every inbox without a tombstone, in numeric order of the ids. */
  inboxes(): Promise<Inbox[]>;
  /** The marks of the mirror's account: its inboxes, and the access that has led to it. */
  account(): Promise<KnownAccount>;
  /** Everything that `status` shows. */
  status(now: number): Promise<MirrorStatus>;
  /** The state that the daemon's loop reads every second: gate, outage, other account, orders. */
  loopState(): Promise<LoopState>;
  /** The lists that the service does not answer, as the ledger has it. */
  failing(now: number): Promise<Failing>;
  /** The inboxes whose single pages are not served, by id. */
  failingPages(now: number): Promise<ReadonlyMap<string, FailingPages>>;
  /** True while questions about single rows of the list rest, because they drew 429s. */
  questionsRest(key: ListKey, now: number): Promise<boolean>;
  /** Why a manual request could not leave at `now`, and until when; null if it could. */
  readWait(budget: Pick<Budget, 'perDay'>, now: number): Promise<Wait | null>;
  /** The lease's holder, which may be dead; null if the lease is free. */
  leaseHolder(): Promise<LeaseHolder | null>;
  /** Claims the mirror for writing. @throws MirrorError `LEASE_HELD` */
  acquireLease(claimant: Claimant): Promise<Lease>;
  /** The same mirror with the verbs that need the lease. */
  writer(lease: Lease): Writer;
  /** The settings of the views of which the mirror has another value. */
  otherViewSettings(settings: ViewSettings): Promise<readonly OtherSetting[]>;
  /** The day's limits of the process that keeps the settings, as a daemon; null: none has kept them yet. */
  recordedLimits(): Promise<ViewSettings['budget'] | null>;
  /** Writes the settings and the days that the views read, unless they are up to date. */
  keepViewSettings(settings: ViewSettings, now: number): Promise<void>;
  /** Writes the slots of the schedules, which the view `freshness` reads, unless they are up to date. */
  keepSlots(schedules: Readonly<Record<ListName, SlotPattern>>, now: number): Promise<void>;
  /** True if the service has answered this mirror at this address. */
  isProvenAddress(address: string): Promise<boolean>;
  /** Records that the service has answered at this address. */
  proveAddress(address: string): Promise<void>;
}

/**
 * The mirror for the holder of the lease. Each transaction of the members below begins by renewing the
 * lease. If another process has taken over, it writes nothing and throws MirrorError `LEASE_LOST`.
 */
export interface Writer extends Mirror {
  /** Opens, restarts, ends, abandons and completes sweeps. */
  readonly sweeps: Sweeps;
  /** Applies pages that were read singly, and moves their bookmarks. */
  readonly bookmarks: Bookmarks;
  /**
   * Records over how many days one reading of every page is spread, for `status` and the view `freshness`.
   */
  saveCoverDays(days: number): Promise<void>;
  /** Records the requests that scheduled work has missed, for the next daemon and the outlook. */
  saveCredit(credit: Credit): Promise<void>;
  /** Writes what the planner has learned. */
  saveRates(rates: readonly StoredRate[]): Promise<void>;
  /** Marks suspects after a walk, and settles each by the service's answer. */
  readonly suspects: Suspects;
  /** Records the schedules and their slots. */
  readonly schedules: Schedules;
  /** Begins, resumes and ends passes. */
  readonly passes: Passes;
  /** Records how far the webhook has delivered. */
  readonly deliveries: Deliveries;
  /**
   * Applies a page whole or not at all.
   * @returns the sweep after the page, and what became of its rows
   */
  applyPage(sweep: Sweep, page: PageToApply, now: number): Promise<{ sweep: Sweep; applied: AppliedItems }>;
  /** Replaces the intervals of these conversations by those that `changes` define. */
  repairIntervals(wrong: readonly WrongIntervals[]): Promise<void>;
  /**
   * Stores the sums of the days that have passed and have none, for the daily views.
   * @returns the number of days
   */
  countDays(now: number, options?: CountOptions): Promise<number>;
  /** Counts these days again, and those that have passed and have no sums. */
  repairDays(wrong: readonly string[], now: number): Promise<void>;
  /**
   * Records that this access leads to the mirror's account.
   * @param accepted the ids of the inboxes on the first page of a consent's list; null without a consent
   */
  proveAccount(access: Access, accepted?: readonly string[] | null): Promise<void>;
  /** Records that this access leads to another account, and when the next test is due (epoch ms). */
  refuseAccount(access: Access, cause: string, times: { now: number; until: number }): Promise<void>;
  /** Records an outage; null records that the service answers again. */
  writeOutage(outage: Outage | null): Promise<void>;
  /** Deletes old rows that are no longer needed; never a mirrored row, never a change. */
  housekeep(now: number, signal?: AbortSignal): Promise<DeletedRows>;
  /** True if nothing has deleted old rows for a day, as on a mirror without a daemon. */
  isHousekeepingOverdue(now: number): Promise<boolean>;
}

/** The mirror in an open database. Closing the mirror closes the database. */
export function mirrorOn(database: Database): Mirror {
  const [history, names] = [new History(database), new Names(database)];
  return {
    name: database.name,
    provider: database.dialect.provider,
    id: () => readMirrorId(database),
    ensureId: () => ensureMirrorId(database),
    ledger: new DatabaseLedger(database),
    budget: new BudgetReader(database),
    sweeps: new SweepReader(database),
    bookmarks: new BookmarkReader(database),
    rates: () => readRates(database),
    suspects: new SuspectReader(database),
    schedules: new ScheduleReader(database),
    orders: new Orders(database),
    orderSweeps: new OrderSweeps(database),
    history,
    names,
    feed: new Feed(history, names),
    beginEpoch: (now) => database.transaction((tx) => beginEpoch(tx, iso(now))),
    activity: (since) => readActivity(database, since),
    credit: () => readCredit(database),
    delays: (now) => readDelays(database, now),
    wrongIntervals: () => findWrongIntervals(database, database.dialect),
    wrongDays: () => findWrongDays(database, database.dialect),
    deliveries: new DeliveryReader(database),
    inboxes: () => liveInboxes(database),
    account: () => readAccount(database),
    status: (now) => readStatus(database, now),
    loopState: () => readLoopState(database),
    failing: (now) => readFailing(database, now),
    failingPages: (now) => readFailingPages(database, now),
    questionsRest: (key, now) => questionsRest(database, key, now),
    readWait: (budget, now) => readWait(database, budget, now),
    leaseHolder: () => readLease(database),
    acquireLease: (claimant) => acquireLease(database, claimant),
    writer: (lease) => openWriter(database, lease),
    otherViewSettings: (settings) => otherViewSettings(database, settings),
    recordedLimits: () => recordedLimits(database),
    keepViewSettings: (settings, now) => keepViewSettings(database, settings, now),
    keepSlots: (schedules, now) => keepSlots(database, schedules, now),
    isProvenAddress: (address) => isProvenAddress(database, address),
    proveAddress: (address) => proveAddress(database, address),
    serverTime: () => database.serverTime(),
    bytes: () => database.bytes(),
    lostFile: () => database.lostFile(),
    endWrites: () => database.endWrites(),
    close: () => database.close(),
  };
}

export function openWriter(database: Database, lease: Lease): Writer {
  const fenced = fencedBy(lease, database);
  return {
    ...mirrorOn(database),
    sweeps: new Sweeps(fenced),
    bookmarks: new Bookmarks(fenced),
    saveCoverDays: (days) => fenced.write((tx) => writeCoverDays(tx, days)),
    saveCredit: (credit) => fenced.write((tx) => writeCredit(tx, credit)),
    saveRates: (rates) => writeRates(fenced, rates),
    suspects: new Suspects(fenced),
    schedules: new Schedules(fenced),
    passes: new Passes(fenced),
    deliveries: new Deliveries(fenced),
    applyPage: (sweep, page, now) => applyPage(fenced, sweep, page, now),
    repairIntervals: (wrong) => repairIntervals(fenced, wrong),
    countDays: (now, options) => countDays(fenced, now, options),
    repairDays: (wrong, now) => repairDays(fenced, wrong, now),
    proveAccount: (access, accepted) => proveAccount(fenced, access, accepted),
    refuseAccount: (access, cause, times) => refuseAccount(fenced, access, cause, times),
    writeOutage: (outage) => writeOutage(fenced, outage),
    housekeep: (now, signal) => housekeep(fenced, now, signal),
    isHousekeepingOverdue: (now) => isHousekeepingOverdue(database, now),
  };
}
