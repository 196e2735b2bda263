import { MINUTE } from '../core/clock.ts';
import { type GateWord, judgeGate } from '../core/gate-state.ts';
import type { Wait } from '../mirror/gate/wait.ts';
import type { Delivery } from '../mirror/history/deliveries.ts';
import type { Claimant } from '../mirror/lease.ts';
import { isLeaseValid } from '../mirror/mirror.ts';
import type { ListStatus, MirrorStatus } from '../mirror/status.ts';
import type { Config } from '../session/config/config.ts';
import { isDaemon } from '../session/live-daemon.ts';
import { cronsOf, type Freshness, freshnessOf, promiseOf } from '../sync/planning/freshness.ts';

/** An outage that nobody looks after is no news any more so long after the next try was due. */
const OUTAGE_KEPT_MS = MINUTE;

/** Stands for no process: none has this number. */
const NO_PID = -1;

/** A list's status with what it means today. */
export type JudgedList = ListStatus & { readonly freshness: Freshness; readonly promiseMs: number };

/** All that `status` shows, judged at one moment. `outage` is null where the one in the database is old news. */
export interface JudgedStatus extends MirrorStatus {
  readonly now: number;
  readonly databaseName: string;
  readonly config: Config;
  readonly judged: readonly JudgedList[];
  readonly gateWord: GateWord;
  readonly leaseHeld: boolean;
  /** The lease's holder is a daemon, so the schedules are kept. */
  readonly daemonRuns: boolean;
  /** Why an order that was begun does not go on now; null where none is, or it does. */
  readonly orderWait: Wait | null;
  /** What is due and does not fit the budget that scheduled work may use; the first of it fits about `until`. */
  readonly waiting: { readonly lists: number; readonly requests: number; readonly until: Date | null } | null;
  /** How the deliveries to WEBHOOK_URL stand; null where there is none. */
  readonly webhook: (Pick<Delivery, 'failures' | 'retryAt' | 'cause'> & { readonly pending: number }) | null;
  /** Everything is fresh, the gate is not shut and the service is within reach. */
  readonly healthy: boolean;
}

/** The process that looks. `isWriter`: a lease in its name is its own, not one that an earlier process of the same number left. */
export type Observer = Pick<Claimant, 'host' | 'pid' | 'isAlive'> & { readonly isWriter: boolean };

export interface Circumstances {
  /** Epoch ms. */
  readonly now: number;
  readonly config: Config;
  readonly databaseName: string;
  readonly self: Observer;
}

/** Holds what the mirror knows against what was promised. */
export function judge(
  status: MirrorStatus,
  { now, config, databaseName, self }: Circumstances,
): JudgedStatus {
  const crons = cronsOf(config.schedules, config.timezone);
  const judged = status.lists.map((list) => {
    const promiseMs = promiseOf(crons[list.list], list.completeAsOf, now);
    return { ...list, promiseMs, freshness: freshnessOf(list.completeAsOf, promiseMs, now) };
  });
  const gateWord = judgeGate(status.gate, now).word;
  const { lease } = status;
  const leaseHeld =
    lease !== null && isLeaseValid(lease, { ...self, pid: self.isWriter ? NO_PID : self.pid }, now);
  const oldNews =
    !leaseHeld && status.outage !== null && status.outage.until.getTime() < now - OUTAGE_KEPT_MS;
  const outage = oldNews ? null : status.outage;
  const kept = judged.every(({ freshness, failure }) => freshness === 'fresh' && failure === null);
  return {
    ...status,
    now,
    config,
    databaseName,
    judged,
    gateWord,
    leaseHeld,
    daemonRuns: leaseHeld && isDaemon(lease),
    outage,
    orderWait: null,
    waiting: null,
    webhook: null,
    healthy: kept && gateWord === 'open' && outage === null,
  };
}
