import { hostname } from 'node:os';
import type { Config } from '../config.ts';
import { BREAKER_STRIKES, type GateState } from '../core/ledger.ts';
import { isValid } from '../store/leases.ts';
import type { ListStatus, MirrorStatus } from '../store/status.ts';
import { type Freshness, freshnessOf, promisesOf } from '../sync/freshness.ts';
import { isAlive } from './machine.ts';

/** A list's status with what it means today. */
export type JudgedList = ListStatus & { readonly freshness: Freshness; readonly promiseMs: number };
export type GateWord = 'open' | 'paused' | 'breaker' | 'key-refused';

/** All that `status` shows, judged at one moment. */
export interface JudgedStatus extends MirrorStatus {
  readonly now: number;
  readonly databaseName: string;
  readonly config: Config;
  readonly judged: readonly JudgedList[];
  readonly gateWord: GateWord;
  readonly leaseHeld: boolean;
  /** Everything is fresh and the gate is not shut. */
  readonly healthy: boolean;
}

/** Holds what the mirror knows against what was promised. */
export function judge(
  status: MirrorStatus,
  { now, config, databaseName }: { now: number; config: Config; databaseName: string },
): JudgedStatus {
  const promises = promisesOf(config.schedules, config.timezone);
  const judged = status.lists.map((list) => ({
    ...list,
    promiseMs: promises[list.list],
    freshness: freshnessOf(list.completeAsOf, promises[list.list], now),
  }));
  const gateWord = gateWordOf(status.gate, now);
  const leaseHeld = status.lease !== null && isValid(status.lease, { host: hostname(), pid: process.pid, isAlive }, now);
  const healthy = judged.every(({ freshness, failure }) => freshness === 'fresh' && failure === null) && gateWord === 'open';
  return { ...status, now, config, databaseName, judged, gateWord, leaseHeld, healthy };
}

function gateWordOf({ strikes, pausedUntil, refusedKey }: GateState, now: number): GateWord {
  if (refusedKey !== null) return 'key-refused';
  if (pausedUntil === null || pausedUntil.getTime() <= now) return 'open';
  return strikes >= BREAKER_STRIKES ? 'breaker' : 'paused';
}
