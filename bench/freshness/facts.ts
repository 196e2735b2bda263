import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { mean, sum } from '../figures.ts';
import { isWeekend, START } from './account.ts';
import { type Trace, TRACE_DAYS, withPlaces } from './trace.ts';

const WORKING_DAYS = 5;

/** The properties of a trace. Shares are of 1. */
export interface Facts {
  readonly changesADay: number;
  /** Gaps between two changes of a conversation that are shorter than 15 minutes. */
  readonly shortGaps: number;
  /** Changes of the newest 100 rows of their list, and of its newest 5 %. */
  readonly newest100: number;
  readonly newest5Percent: number;
  /** Changes on a day of the weekend, for each on a working day. */
  readonly weekend: number;
  /** Variance of the changes in an hour of the week, divided by their mean; Poisson has 1. */
  readonly fano: number;
}

/** Measures a trace. */
export function factsOf(trace: Trace): Facts {
  const placed = withPlaces(trace);
  const share = (count: number): number => count / placed.length;
  const days = Array.from({ length: TRACE_DAYS }, () => Array.from({ length: 24 }, () => 0));
  for (const { at } of placed) days[Math.floor((at - START) / DAY)]![Math.floor((at % DAY) / HOUR)]! += 1;
  const workingDays = days.filter((_, day) => !isWeekend(START + day * DAY));
  const weekends = days.filter((_, day) => isWeekend(START + day * DAY));
  return {
    changesADay: mean(workingDays.map(sum)),
    shortGaps: shortGaps(placed),
    newest100: share(placed.filter(({ rank }) => rank < 100).length),
    newest5Percent: share(placed.filter(({ rank, length }) => rank < 0.05 * length).length),
    weekend: mean(weekends.map(sum)) / mean(workingDays.map(sum)),
    fano: fanoOf(workingDays),
  };
}

function shortGaps(changes: Trace['changes']): number {
  const last = new Map<string, number>();
  let [gaps, short] = [0, 0];
  for (const { at, inbox, row } of changes) {
    const before = last.get(`${inbox}/${row}`);
    last.set(`${inbox}/${row}`, at);
    if (before === undefined) continue;
    gaps += 1;
    if (at - before < 15 * MINUTE) short += 1;
  }
  return short / gaps;
}

/** The variance is that between the weeks, for each hour of a week's working days. */
function fanoOf(days: readonly (readonly number[])[]): number {
  let [variance, total] = [0, 0];
  for (let weekday = 0; weekday < WORKING_DAYS; weekday += 1)
    for (let hour = 0; hour < 24; hour += 1) {
      const counts = days.filter((_, day) => day % WORKING_DAYS === weekday).map((day) => day[hour]!);
      const middle = mean(counts);
      variance += sum(counts.map((count) => (count - middle) ** 2)) / (counts.length - 1);
      total += middle;
    }
  return variance / total;
}
