import { createTask } from 'node-cron';
import type { ListName } from '../core/lists.ts';

/** How a list stands against its promise. */
export type Freshness = 'fresh' | 'stale' | 'never';

const RUNS_LOOKED_AT = 5;

/**
 * Milliseconds that a list may be old: two of the longest spans between runs of its schedule, so that one pass under way or one missed
 * slot is no alarm.
 */
function promiseOf(expression: string, timezone: string): number {
  const task = createTask(expression, () => undefined, { timezone });
  const runs = task.getNextRuns(RUNS_LOOKED_AT).map((date) => date.getTime());
  void task.destroy();
  const spans = runs.slice(1).map((at, index) => at - (runs[index] ?? at));
  return 2 * Math.max(...spans, 60_000);
}

/** The promise of every kind of list. */
export function promisesOf(schedules: Readonly<Record<ListName, string>>, timezone: string): Record<ListName, number> {
  const of = (list: ListName): number => promiseOf(schedules[list], timezone);
  return { inboxes: of('inboxes'), users: of('users'), tags: of('tags'), conversations: of('conversations') };
}

export function freshnessOf(completeAsOf: Date | null, promiseMs: number, now: number): Freshness {
  if (completeAsOf === null) return 'never';
  return now - completeAsOf.getTime() <= promiseMs ? 'fresh' : 'stale';
}
