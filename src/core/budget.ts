import { DAY, SECOND } from './clock.ts';

/** The limits of one API key as configured (spec §8). */
export interface Budget {
  /** Requests a second. */
  readonly perSecond: number;
  /** Requests in any 24 hours. */
  readonly perDay: number;
  /** Requests of the day that scheduled work leaves to manual commands. */
  readonly reserved: number;
  /** Rows a page (`limit`). */
  readonly pageSize: number;
  /** Why the requests of a day are fewer than configured, as a clause; null or missing if they are not. */
  readonly lowered?: string | null;
  /**
   * Other mirrors have used up the day: no request may leave, although `perDay` is 1, so that every plan can
   * divide by it.
   */
  readonly isUsedUp?: boolean;
}

/** At most this many requests are under way at a time. */
export const IN_FLIGHT = 4;

/** A request without an answer is given up after this many ms. It can arrive at the service until then. */
export const REQUEST_TIMEOUT_MS = 30 * SECOND;

/**
 * A request counts against the day's budget for this many ms: 24 hours, and the time that it can be under way
 * before it arrives at the service.
 */
export const BUDGET_WINDOW_MS = DAY + REQUEST_TIMEOUT_MS;

/**
 * A full day of the service leaves at least this share of the configured requests. Without it, another client
 * that fills the account's day each night would lower the budget further each night.
 */
const LEAST_BY_LIMIT = 1 / 4;

/** The facts that lower a configured budget, as long as they last. */
export interface Lowering {
  /** This mirror's requests in 24 hours when the service refused one for its day; null if it did not. */
  readonly dayLimit: number | null;
  /** Other mirrors that use the same key: their REQUESTS_PER_DAY, and their requests in 24 hours. */
  readonly others: readonly { readonly perDay: number; readonly sent: number }[];
}

/**
 * The requests of a day, and those reserved of them, that a configured budget still leaves. The reserve
 * keeps its share. The key's limit is the largest that a mirror names: with it, another mirror can keep to a
 * smaller share. `perDay` is at least 1; `isUsedUp` says that even that request may not leave.
 */
export function lowerBudget(
  { perDay, reserved }: Pick<Budget, 'perDay' | 'reserved'>,
  { dayLimit, others }: Lowering,
): Required<Pick<Budget, 'perDay' | 'reserved' | 'isUsedUp'>> {
  const byLimit = dayLimit === null ? perDay : Math.max(Math.ceil(LEAST_BY_LIMIT * perDay), dayLimit);
  const ofKey = Math.max(perDay, ...others.map((other) => other.perDay));
  const byOthers = others.reduce((rest, { sent }) => rest - sent, ofKey);
  const left = Math.max(1, Math.min(perDay, byLimit, byOthers));
  return { perDay: left, reserved: Math.floor((reserved * left) / perDay), isUsedUp: byOthers < 1 };
}

/** Scheduled work may fill the window up to this many requests. */
export function scheduledCap({ perDay, reserved }: Pick<Budget, 'perDay' | 'reserved'>): number {
  return perDay - reserved;
}

/** Requests an hour if scheduled work spends its day evenly. */
export function hourlyShare(budget: Pick<Budget, 'perDay' | 'reserved'>): number {
  return scheduledCap(budget) / 24;
}

/** Requests left of the day's budget if the window holds `sent`. */
export function requestsLeft({ perDay }: Pick<Budget, 'perDay'>, sent: number): number {
  return Math.max(0, perDay - sent);
}

/** Requests that a list of this many rows costs; at least one. */
export function pagesFor(rows: number, { pageSize }: Pick<Budget, 'pageSize'>): number {
  return Math.max(1, Math.ceil(rows / pageSize));
}
