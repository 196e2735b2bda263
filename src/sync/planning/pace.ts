import { type Budget, BUDGET_WINDOW_MS, scheduledCap } from '../../core/budget.ts';
import { HOUR, MINUTE } from '../../core/clock.ts';
import type { BudgetReader, WindowByHour } from '../../mirror/gate/budget-use.ts';
import type { Credit } from '../../mirror/settings/credit.ts';

/**
 * The pace: how many requests an hour the daemon's scheduled sweeps may send, so that the day's budget lasts
 * (docs/decisions/0002). Pure; `daemon/sweeps/pacer.ts` follows it.
 */

/** The budget of scheduled work, now and in the coming day. */
export interface Supply {
  /** Requests that scheduled work may send now; negative if orders have used more than the reserve. */
  readonly left: number;
  /** Requests that leave the window in each of the next 24 hours: as many may be sent then. */
  readonly leaving: readonly number[];
}

/** How much of the day belongs to an hour; 1 is the mean. See `week/profile.ts`. */
export interface Weights {
  readonly now: number;
  /** The mean weight of each of the next 24 hours. */
  readonly ahead: readonly number[];
}

/** The weights of a day without a busy hour. */
export const EVEN: Weights = { now: 1, ahead: Array.from({ length: 24 }, () => 1) };

/**
 * The pace now, in requests an hour. For each of the next 24 hours it divides what is free until then by the
 * weight until then, and takes the least of these 24: no later hour then lacks its share.
 */
export function paceOf({ left, leaving }: Supply, weights: Weights): number {
  let [free, weight, least] = [left, 0, Number.POSITIVE_INFINITY];
  for (const [hour, requests] of leaving.entries()) {
    free += requests;
    weight += weights.ahead[hour] ?? 1;
    least = Math.min(least, free / weight);
  }
  return Math.max(0, weights.now * least);
}

/** The supply of scheduled work, from the requests in the window. */
export function supplyOf(
  { sent, leaving }: WindowByHour,
  budget: Pick<Budget, 'perDay' | 'reserved'>,
): Supply {
  return { left: scheduledCap(budget) - sent, leaving };
}

/**
 * Requests that orders and commands will probably send in a day: those of the last one, but no more than on
 * the day before. One large order, or a first copy by a command, is no habit.
 */
export async function sentByOrders(
  { sent }: WindowByHour,
  budget: Pick<BudgetReader, 'scheduledSince' | 'sentSince'>,
  now: number,
): Promise<number> {
  const scheduled = await budget.scheduledSince(now - BUDGET_WINDOW_MS);
  if (sent <= scheduled) return 0;
  const twoDaysAgo = now - 2 * BUDGET_WINDOW_MS;
  const inTwoDays = (await budget.sentSince(twoDaysAgo)) - (await budget.scheduledSince(twoDaysAgo));
  const lastDay = sent - scheduled;
  return Math.max(0, Math.min(lastDay, inTwoDays - lastDay));
}

/** Requests that scheduled work may send in a day beside those of orders. */
export function besideOrders(budget: Pick<Budget, 'perDay' | 'reserved'>, ordered: number): number {
  return Math.max(0, scheduledCap(budget) - ordered);
}

/** A running daemon reads the ledger, and records its pace, at most once in this many ms. */
export const RECORD_EVERY_MS = MINUTE;

/** A recorded pace is the daemon's present one for this many ms. */
const RECORDED_MS = 2 * RECORD_EVERY_MS;

/**
 * The pace that a running daemon has recorded, in requests an hour; null: none. The daemon learns the busy
 * hours once a day, so that a reader who learns them now would often find another pace.
 */
export function recordedPace(credit: Credit | null, now: number): number | null {
  return credit !== null && Math.abs(now - credit.at) <= RECORDED_MS ? (credit.anHour ?? null) : null;
}

/** The most requests that can be made up at once: those of an hour at this pace, and at least one. */
export function mostCredit(anHour: number): number {
  return Math.max(1, anHour);
}

/**
 * Requests that scheduled work has missed until `now` (epoch ms): the recorded ones, and the pace since then
 * less the requests sent since then. Negative by as many as the record says went ahead of the pace, at most:
 * requests of a first filling go faster than the pace, and nothing waits for them.
 */
export async function missedUntil(
  { requests, at }: Credit,
  budget: Pick<BudgetReader, 'scheduledSince'>,
  anHour: number,
  now: number,
): Promise<number> {
  // A clock that was set back may be before the record.
  const accrued = (anHour * Math.max(0, now - at)) / HOUR;
  const missed = requests + accrued - (await budget.scheduledSince(at));
  const most = mostCredit(anHour);
  const ahead = Math.min(most, Math.max(0, -requests));
  return Math.min(most, Math.max(-ahead, missed));
}
