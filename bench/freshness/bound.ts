import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { isWeekend, START } from './account.ts';
import { PAGE, type PlacedChange, type Trace, TRACE_DAYS, withPlaces } from './trace.ts';

/** Pages at these distances from the newest page and beyond share one rate, up to the next distance. */
const EDGES = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32];

/** The days that the bound is for. */
export interface BoundOptions {
  readonly firstDay: number;
  readonly days: number;
  /** Requests a day. */
  readonly budget: number;
}

/**
 * The least mean delay, in minutes, that readings of single pages reach if all rates are known and the
 * changes themselves are not (docs/freshness.md). Pages are of {@link PAGE} rows, and k is 1.
 */
export function boundOf(trace: Trace, { firstDay, days, budget }: BoundOptions): number {
  const placed = withPlaces(trace);
  const roots = rootsOf(trace, placed);
  const hourly = activityByHour(placed);
  let [cost, changes] = [0, 0];
  for (let day = firstDay; day < firstDay + days; day += 1) {
    const ofDay = hourly[isWeekend(START + day * DAY) ? 'weekend' : 'working'];
    const spent = ofDay.reduce((sum, activity) => sum + Math.sqrt(activity) * roots, 0);
    cost += spent ** 2 / budget;
    changes += ofDay.reduce((sum, activity) => sum + activity, 0);
  }
  return (HOUR * cost) / (2 * changes) / MINUTE;
}

/**
 * The sum of the square roots of the pages' shares of all changes: all pages of an inbox at like distances
 * from the newest one have the same share.
 */
function rootsOf({ sizes }: Trace, placed: readonly PlacedChange[]): number {
  const counts = new Map<string, number>();
  for (const { inbox, row, rank } of placed) {
    const key = `${inbox}/${bucketOf(Math.floor((row + rank) / PAGE) - Math.floor(row / PAGE))}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  let roots = 0;
  for (const [inbox, size] of sizes.entries()) {
    const pages = Math.ceil(size / PAGE);
    for (const [bucket, from] of EDGES.entries()) {
      const to = Math.min(pages, EDGES[bucket + 1] ?? pages);
      const changes = counts.get(`${inbox}/${bucket}`) ?? 0;
      if (to > from) roots += Math.sqrt((changes / placed.length) * (to - from));
    }
  }
  return roots;
}

function bucketOf(distance: number): number {
  return EDGES.findLastIndex((edge) => edge <= distance);
}

/** Changes to expect in each hour of a day, by the kind of the day. */
function activityByHour(placed: readonly PlacedChange[]): Record<'working' | 'weekend', number[]> {
  const count = (weekend: boolean): number[] => {
    const hours = Array.from({ length: 24 }, () => 0);
    for (const { at } of placed) if (isWeekend(at) === weekend) hours[Math.floor((at % DAY) / HOUR)]! += 1;
    let days = 0;
    for (let day = 0; day < TRACE_DAYS; day += 1) if (isWeekend(START + day * DAY) === weekend) days += 1;
    return hours.map((changes) => changes / days);
  };
  return { working: count(false), weekend: count(true) };
}
