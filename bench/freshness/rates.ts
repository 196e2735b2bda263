import { DAY, HOUR } from '../../src/core/clock.ts';
import { isWeekend, START } from './account.ts';
import { PAGE, type PlacedChange, type Trace, TRACE_DAYS, withPlaces } from './trace.ts';

/** Pages at these distances from the newest page and beyond share one rate, up to the next distance. */
const EDGES = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32];

/** The rates of an account, estimated from its whole trace: a product of place and hour. */
export interface KnownRates {
  /** For each inbox, the share of all changes that falls on each page, the newest first. */
  readonly shares: readonly (readonly number[])[];
  /** Changes to expect in each hour of a day, by the kind of the day. */
  readonly hourly: Readonly<Record<'working' | 'weekend', readonly number[]>>;
}

export function ratesOf(trace: Trace): KnownRates {
  const placed = withPlaces(trace);
  return { shares: sharesOf(trace, placed), hourly: activityByHour(placed) };
}

/** All pages of an inbox at like distances from the newest one have the same share. */
function sharesOf({ sizes }: Trace, placed: readonly PlacedChange[]): number[][] {
  const counts = new Map<string, number>();
  for (const { inbox, row, rank } of placed) {
    const key = `${inbox}/${bucketOf(Math.floor((row + rank) / PAGE) - Math.floor(row / PAGE))}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return sizes.map((size, inbox) => {
    const pages = Math.ceil(size / PAGE);
    return Array.from({ length: pages }, (_, distance) => {
      const bucket = bucketOf(distance);
      const alike = Math.min(pages, EDGES[bucket + 1] ?? pages) - EDGES[bucket]!;
      return (counts.get(`${inbox}/${bucket}`) ?? 0) / placed.length / alike;
    });
  });
}

function bucketOf(distance: number): number {
  return EDGES.findLastIndex((edge) => edge <= distance);
}

function activityByHour(placed: readonly PlacedChange[]): KnownRates['hourly'] {
  const count = (weekend: boolean): number[] => {
    const hours = Array.from({ length: 24 }, () => 0);
    for (const { at } of placed) if (isWeekend(at) === weekend) hours[Math.floor((at % DAY) / HOUR)]! += 1;
    let days = 0;
    for (let day = 0; day < TRACE_DAYS; day += 1) if (isWeekend(START + day * DAY) === weekend) days += 1;
    return hours.map((changes) => changes / days);
  };
  return { working: count(false), weekend: count(true) };
}
