import type { ListName } from '../../core/lists.ts';
import { type Cron, cronOf } from './cron.ts';

/** How a list stands against its promise. */
export type Freshness = 'fresh' | 'stale' | 'never';

/** No promise is shorter: a schedule by the second is a wish. */
const SHORTEST_MS = 120_000;

export function cronsOf(
  schedules: Readonly<Record<ListName, string>>,
  timezone: string,
): Record<ListName, Cron> {
  const of = (list: ListName): Cron => cronOf(schedules[list], timezone);
  return { inboxes: of('inboxes'), users: of('users'), tags: of('tags'), conversations: of('conversations') };
}

/**
 * Milliseconds that a list may be old: from when it was complete to the second slot after that, so that one pass under way or one missed slot is no
 * alarm. A schedule for office hours so promises little for a night, and much for a morning.
 */
export function promiseOf(cron: Cron, completeAsOf: Date | null, now: number): number {
  const since = completeAsOf?.getTime() ?? now;
  return Math.max(SHORTEST_MS, cron.next(cron.next(since)) - since);
}

export function freshnessOf(completeAsOf: Date | null, promiseMs: number, now: number): Freshness {
  if (completeAsOf === null) return 'never';
  return now - completeAsOf.getTime() <= promiseMs ? 'fresh' : 'stale';
}
