import type { Ledger, Reason } from '../core/ledger.ts';
import type { Item, ListKey } from '../core/lists.ts';
import type { Database } from '../database/database.ts';
import { countSent, leavesWindowAt } from './gate/budget.ts';
import { type Glance, glance } from './gate/glance.ts';
import { ledgerOf } from './gate/ledger.ts';
import { type Outage, writeOutage } from './gate/outage.ts';
import { type Delivery, readDelivery, writeDelivery } from './history/deliveries.ts';
import { type ChangeRecord, changesAfter, lastChangeId } from './history/read.ts';
import { housekeep, type Tidied } from './housekeeping.ts';
import { type Inbox, liveInboxes } from './items/inboxes.ts';
import { applyPage, type PageToApply } from './items/page.ts';
import { closeWalk, countSuspects, finishSweep, settleSuspect, type Suspect } from './items/suspects.ts';
import type { Applied } from './items/upsert.ts';
import type { Fence, Lease } from './lease.ts';
import { nextOrder, type Order } from './passes/orders.ts';
import { beginPass, endPass, type Pass, type PassEnd, type PassSpec, touchPass } from './passes/passes.ts';
import { readSchedules, type Schedule, writeSchedule } from './schedules.ts';
import { completeSweeps, type LatestSweep, latestSweeps } from './sweeps/latest.ts';
import {
  abandonSweeps,
  endSweep,
  lastComplete,
  openSweep,
  restartSweep,
  type Sweep,
} from './sweeps/sweeps.ts';

/** What anybody may ask of the mirror's database. `now` is epoch ms. */
export interface Reader {
  liveInboxes(): Promise<Inbox[]>;
  nextOrder(): Promise<Order | null>;
  countSuspects(key: ListKey): Promise<number>;
  lastComplete(key: ListKey): Promise<{ finishedAt: Date; items: number } | null>;
  latestSweeps(): Promise<Map<string, LatestSweep[]>>;
  completeSweeps(key: ListKey): Promise<{ finishedAt: Date; changes: number }[]>;
  schedules(): Promise<Schedule[]>;
  glance(): Promise<Glance>;
  changesAfter(afterId: number, limit: number): Promise<ChangeRecord[]>;
  lastChangeId(): Promise<number>;
  readDelivery(target: string): Promise<Delivery | null>;
  /** Requests since an instant, epoch ms. */
  countSent(since: number): Promise<number>;
  /** When `many` more requests will have left the window of the day's budget. */
  leavesWindowAt(many: number, now: number): Promise<Date>;
}

/** The mirror's database as the sync room uses it: every write in one transaction, behind the lease's fence. */
export interface Store extends Reader {
  readonly ledger: Ledger;
  beginPass(spec: PassSpec, now: number): Promise<Pass>;
  touchPass(passId: number, now: number): Promise<void>;
  endPass(passId: number, end: PassEnd, now: number): Promise<void>;
  openSweep(key: ListKey, reason: Reason, now: number): Promise<Sweep>;
  restartSweep(sweep: Sweep): Promise<Sweep>;
  abandonSweeps(key: ListKey, begunBefore: Date, now: number): Promise<void>;
  applyPage(sweep: Sweep, page: PageToApply, now: number): Promise<{ sweep: Sweep; applied: Applied }>;
  closeWalk(
    sweep: Sweep,
    options: { acceptDeletes: boolean; now: number },
  ): Promise<{ suspects: Suspect[]; deleted: number }>;
  settleSuspect(sweep: Sweep, suspect: Suspect, answer: { found: Item | null; now: number }): Promise<number>;
  finishSweep(sweep: Sweep, now: number): Promise<void>;
  endSweep(sweepId: number, state: 'paused' | 'failed', error: string, now: number): Promise<void>;
  writeSchedule(schedule: Schedule): Promise<void>;
  writeOutage(outage: Outage | null): Promise<void>;
  housekeep(now: number): Promise<Tidied>;
  writeDelivery(target: string, delivery: Delivery, now: number): Promise<void>;
}

export function openReader(database: Database): Reader {
  return {
    liveInboxes: () => liveInboxes(database),
    nextOrder: () => nextOrder(database),
    countSuspects: (key) => countSuspects(database, database, key),
    lastComplete: (key) => lastComplete(database, key),
    latestSweeps: () => latestSweeps(database),
    completeSweeps: (key) => completeSweeps(database, key),
    schedules: () => readSchedules(database),
    glance: () => glance(database),
    changesAfter: (afterId, limit) => changesAfter(database, afterId, {}, limit),
    lastChangeId: () => lastChangeId(database),
    readDelivery: (target) => readDelivery(database, target),
    countSent: (since) => countSent(database, since),
    leavesWindowAt: (many, now) => leavesWindowAt(database, many, now),
  };
}

/** The store of a writer that holds the lease. */
export function openStore(database: Database, lease: Lease): Store {
  const fence: Fence = (tx) => lease.renew(tx);
  return {
    ...openReader(database),
    ledger: ledgerOf(database),
    beginPass: (spec, now) => beginPass(database, fence, spec, now),
    touchPass: (passId, now) => touchPass(database, fence, passId, now),
    endPass: (passId, end, now) => endPass(database, fence, passId, end, now),
    openSweep: (key, reason, now) => openSweep(database, fence, key, reason, now),
    restartSweep: (sweep) => restartSweep(database, fence, sweep),
    abandonSweeps: (key, begunBefore, now) => abandonSweeps(database, fence, key, begunBefore, now),
    applyPage: (sweep, page, now) => applyPage(database, fence, sweep, page, now),
    closeWalk: (sweep, options) => closeWalk(database, fence, sweep, options),
    settleSuspect: (sweep, suspect, answer) => settleSuspect(database, fence, sweep, suspect, answer),
    finishSweep: (sweep, now) => finishSweep(database, fence, sweep, now),
    endSweep: (sweepId, state, error, now) => endSweep(database, fence, sweepId, state, error, now),
    writeSchedule: (schedule) => writeSchedule(database, fence, schedule),
    writeOutage: (outage) => writeOutage(database, fence, outage),
    housekeep: (now) => housekeep(database, fence, now),
    writeDelivery: (target, delivery, now) => writeDelivery(database, fence, target, delivery, now),
  };
}
