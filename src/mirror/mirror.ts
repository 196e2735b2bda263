import type { Budget } from '../core/budget.ts';
import type { Ledger } from '../core/ledger.ts';
import type { Database } from '../database/database.ts';
import { BudgetUse } from './gate/budget.ts';
import { DatabaseLedger } from './gate/ledger.ts';
import { type LoopState, readLoopState } from './gate/loop-state.ts';
import { type Outage, writeOutage } from './gate/outage.ts';
import { readWait, type Wait } from './gate/wait.ts';
import { Deliveries, DeliveryReader } from './history/deliveries.ts';
import { History } from './history/read.ts';
import { housekeep, type Tidied } from './housekeeping.ts';
import { type Inbox, liveInboxes } from './items/inboxes.ts';
import { applyPage, type PageToApply } from './items/page.ts';
import { SuspectCounts, Suspects } from './items/suspects.ts';
import type { Applied } from './items/upsert.ts';
import { acquireLease, type Claimant, fencedBy, type Lease, type LeaseHolder, readLease } from './lease.ts';
import { Orders } from './passes/orders.ts';
import { Passes } from './passes/passes.ts';
import { OrderSweeps } from './passes/progress.ts';
import { ScheduleReader, Schedules } from './schedules.ts';
import { type MirrorStatus, readStatus } from './status.ts';
import { SweepHistory } from './sweeps/latest.ts';
import { type Sweep, Sweeps } from './sweeps/sweeps.ts';
import { keepViewSettings, type ViewSettings } from './view-settings.ts';

export { targetOf } from './history/deliveries.ts';
export { asNdjson, changeAsJson } from './history/json.ts';
export { isValid } from './lease.ts';
export { openAndComplete } from './sweeps/latest.ts';

/** The mirror as every process may use it. `now` is epoch ms. */
export interface Mirror {
  /** For messages: the file or the address, without any password. */
  readonly name: string;
  readonly provider: 'sqlite' | 'postgresql';
  readonly ledger: Ledger;
  readonly budget: BudgetUse;
  readonly sweeps: SweepHistory;
  readonly suspects: SuspectCounts;
  readonly schedules: ScheduleReader;
  readonly orders: Orders;
  readonly orderSweeps: OrderSweeps;
  readonly history: History;
  readonly deliveries: DeliveryReader;
  /** Every inbox without a tombstone, in the order of their numbers. */
  inboxes(): Promise<Inbox[]>;
  /** Everything that `status` shows. */
  status(now: number): Promise<MirrorStatus>;
  /** What the daemon's loop reads every second. */
  loopState(): Promise<LoopState>;
  /** Why a manual request would have to wait; null if it could leave. */
  wait(budget: Pick<Budget, 'perDay'>, now: number): Promise<Wait | null>;
  /** The lease's holder, which may be dead; null if the lease is free. */
  leaseHolder(): Promise<LeaseHolder | null>;
  /** Claims the mirror for writing. @throws MirrorError `LEASE_HELD` */
  acquireLease(claimant: Claimant): Promise<Lease>;
  /** The mirror for the holder of the lease. */
  writer(lease: Lease): Writer;
  /** Writes the settings and the days that the views read. */
  keepViewSettings(settings: ViewSettings, now: number): Promise<void>;
  /** The database server's clock, epoch ms; null for a file. */
  serverTime(): Promise<number | null>;
  /** Bytes on disk. */
  bytes(): Promise<number>;
  /** Changes when the mirror's file is deleted or replaced; null for a server. */
  fileIdentity(): string | null;
  close(): Promise<void>;
}

/** The mirror for the holder of the lease. Every write proves in its own transaction that the lease is still held. */
export interface Writer extends Mirror {
  readonly sweeps: Sweeps;
  readonly suspects: Suspects;
  readonly schedules: Schedules;
  readonly passes: Passes;
  readonly deliveries: Deliveries;
  /** Applies a page in one transaction. @returns the sweep after the page, and how many rows the page changed */
  applyPage(sweep: Sweep, page: PageToApply, now: number): Promise<{ sweep: Sweep; applied: Applied }>;
  /** Records that the service is out of reach, or with null that it answers again. */
  writeOutage(outage: Outage | null): Promise<void>;
  /** Deletes what is old and no longer needed. */
  housekeep(now: number): Promise<Tidied>;
}

export function openMirror(database: Database): Mirror {
  return {
    name: database.name,
    provider: database.dialect.provider,
    ledger: new DatabaseLedger(database),
    budget: new BudgetUse(database),
    sweeps: new SweepHistory(database),
    suspects: new SuspectCounts(database),
    schedules: new ScheduleReader(database),
    orders: new Orders(database),
    orderSweeps: new OrderSweeps(database),
    history: new History(database),
    deliveries: new DeliveryReader(database),
    inboxes: () => liveInboxes(database),
    status: (now) => readStatus(database, now),
    loopState: () => readLoopState(database),
    wait: (budget, now) => readWait(database, budget, now),
    leaseHolder: () => readLease(database),
    acquireLease: (claimant) => acquireLease(database, claimant),
    writer: (lease) => openWriter(database, lease),
    keepViewSettings: (settings, now) => keepViewSettings(database, settings, now),
    serverTime: () => database.serverTime(),
    bytes: () => database.bytes(),
    fileIdentity: () => database.fileIdentity(),
    close: () => database.close(),
  };
}

export function openWriter(database: Database, lease: Lease): Writer {
  const fenced = fencedBy(lease, database);
  return {
    ...openMirror(database),
    sweeps: new Sweeps(fenced),
    suspects: new Suspects(fenced),
    schedules: new Schedules(fenced),
    passes: new Passes(fenced),
    deliveries: new Deliveries(fenced),
    applyPage: (sweep, page, now) => applyPage(fenced, sweep, page, now),
    writeOutage: (outage) => writeOutage(fenced, outage),
    housekeep: (now) => housekeep(fenced, now),
  };
}
