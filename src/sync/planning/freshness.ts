import { MINUTE } from '../../core/clock.ts';
import type { Cron } from './cron.ts';

/** A list against its promise: not older, older, or never complete. */
export type Freshness = 'fresh' | 'stale' | 'never';

/** Milliseconds of the shortest promise: no service can be read completely every second. */
const SHORTEST_MS = 2 * MINUTE;

/**
 * The age in ms up to which a list is fresh: from when it was complete to the second slot after that. The
 * second, so that neither a sweep in progress nor one missed slot raises an alarm. With a schedule for office
 * hours a list may therefore be old at night, but not during the day. Where a local time occurs twice, its
 * second slot does not count (docs/decisions/0001).
 */
export function promiseOf(cron: Cron, completeAsOf: Date | null, now: number): number {
  const since = completeAsOf?.getTime() ?? now;
  return Math.max(SHORTEST_MS, cron.nextCounted(cron.nextCounted(since)) - since);
}

export function freshnessOf(completeAsOf: Date | null, promiseMs: number, now: number): Freshness {
  if (completeAsOf === null) return 'never';
  return now - completeAsOf.getTime() <= promiseMs ? 'fresh' : 'stale';
}
