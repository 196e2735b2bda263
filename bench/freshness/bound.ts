import { DAY, HOUR, MINUTE } from '../../src/core/clock.ts';
import { isWeekend, START } from './account.ts';
import type { KnownRates } from './rates.ts';

/** The days that the bound is for. */
export interface BoundOptions {
  readonly firstDay: number;
  readonly days: number;
  /** Requests a day. */
  readonly budget: number;
}

/**
 * The least mean delay, in minutes, that readings of single pages reach if all rates are known and the
 * changes themselves are not (docs/freshness.md). A page costs one request: k is 1.
 */
export function boundOf({ shares, hourly }: KnownRates, { firstDay, days, budget }: BoundOptions): number {
  const roots = shares.flat().reduce((sum, share) => sum + Math.sqrt(share), 0);
  let [cost, changes] = [0, 0];
  for (let day = firstDay; day < firstDay + days; day += 1) {
    const ofDay = hourly[isWeekend(START + day * DAY) ? 'weekend' : 'working'];
    const spent = ofDay.reduce((sum, activity) => sum + Math.sqrt(activity) * roots, 0);
    cost += spent ** 2 / budget;
    changes += ofDay.reduce((sum, activity) => sum + activity, 0);
  }
  return (HOUR * cost) / (2 * changes) / MINUTE;
}
