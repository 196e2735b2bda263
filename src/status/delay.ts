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
  const [medianMs, p95Ms] = [quantileOf(ascending, 0.5), quantileOf(ascending, 0.95)];
  if (medianMs === null || p95Ms === null) return null;
  const medianByHour = Array.from({ length: HOURS }, (_, hour) => quantileOf(byHour.get(hour) ?? [], 0.5));
  return { changes: ascending.length, medianMs, p95Ms, medianByHour };
}

/** The ms below which a share (0 to 1) of ascending delays lies; null if there are none. */
function quantileOf(ascending: readonly SeenDelay[], share: number): number | null {
  return ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))]?.ms ?? null;
}
