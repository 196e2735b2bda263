import { HOUR } from '../../../core/clock.ts';
import type { PlannedPage } from './plan.ts';
import { expectedChanges, type Moment } from './value.ts';

/**
 * Hours that a change waits on average until its page is read, at an even pace; null if no page changes. Each
 * page is read in proportion to the root of its rate, which ends most waiting. With rates l an hour and
 * B requests an hour, it is (sum of the roots of l)² / (2 B · sum of l).
 * @param requests B, requests an hour
 */
export function meanDelay(pages: readonly PlannedPage[], moment: Moment, requests: number): number | null {
  let [roots, sum] = [0, 0];
  for (const page of pages) {
    const rate = expectedChanges({ ...page, readAt: moment.now - HOUR }, moment);
    roots += Math.sqrt(rate);
    sum += rate;
  }
  const hours = roots ** 2 / (2 * requests * sum);
  return sum > 0 && requests > 0 && Number.isFinite(hours) ? hours : null;
}
