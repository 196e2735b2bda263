import { DAY, HOUR } from '../core/clock.ts';
import type { SeenDelay } from '../mirror/history/delays.ts';

/** How late the changes of conversations in the last 24 hours were seen at most. */
export interface MeasuredDelay {
  readonly changes: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** The median of each of these hours in ms, the oldest first; null: no change was seen in it. */
  readonly medianByHour: readonly (number | null)[];
}

const HOURS = DAY / HOUR;

/**
 * The delay of fewer changes is not shown to people: it is mostly chance, and often far too good. The view
 * `freshness` has the same rule.
 */
const FEWEST_CHANGES = 10;

/** True if the delays are of enough changes to be shown to people. */
export function isTelling({ changes }: Pick<MeasuredDelay, 'changes'>): boolean {
  return changes >= FEWEST_CHANGES;
}

/**
 * Sums up the delays of the 24 hours before `now` (epoch ms); null if there are none.
 * @param ascending by their length
 */
export function measuredDelay(ascending: readonly SeenDelay[], now: number): MeasuredDelay | null {
  const hourOf = ({ observedAt }: SeenDelay): number => {
    const hour = Math.floor((observedAt.getTime() - (now - DAY)) / HOUR);
    return Math.max(0, Math.min(HOURS - 1, hour));
  };
  const byHour = Map.groupBy(ascending, hourOf);
  const [medianMs, p95Ms] = [percentileOf(ascending, 50), percentileOf(ascending, 95)];
  if (medianMs === null || p95Ms === null) return null;
  const medianByHour = Array.from({ length: HOURS }, (_, hour) => percentileOf(byHour.get(hour) ?? [], 50));
  return { changes: ascending.length, medianMs, p95Ms, medianByHour };
}

/** The ms that a percentage of ascending delays does not exceed, by nearest rank; null if there are none. */
function percentileOf(ascending: readonly SeenDelay[], percent: number): number | null {
  return ascending[Math.ceil((percent * ascending.length) / 100) - 1]?.ms ?? null;
}
