import { HOUR, MINUTE } from '../../src/core/clock.ts';
import type { TestHouse } from './daemon.ts';

/** 20 requests an hour; a walk over all lists costs 66. */
export const LIMITS = { pageSize: 10, perDay: 500, reserved: 20 };
export const SHARE = 20;
export const BUSY = {
  sandbox: { conversations: [400, 200], perDay: 500 },
  limits: LIMITS,
  pollMs: 5 * MINUTE,
};

/** The requests of each hour from `from` to `until`. */
export function byHour({ sandbox }: TestHouse, from: number, until: number): number[] {
  return Array.from(
    { length: (until - from) / HOUR },
    (_, hour) =>
      sandbox.arrivals.filter(({ at }) => at >= from + hour * HOUR && at < from + (hour + 1) * HOUR).length,
  );
}
