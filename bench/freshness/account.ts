import { DAY, HOUR } from '../../src/core/clock.ts';
import { conversationCounts, SANDBOX_DEFAULTS } from '../../src/sandbox/options.ts';
import type { Random } from '../../src/sandbox/world/random.ts';

/** An account to measure. */
export interface Account {
  readonly name: string;
  readonly inboxes: number;
  readonly conversations: number;
  /** New conversations on a working day. */
  readonly newADay: number;
  /**
   * Median hours between two sessions of a conversation, so that most conversations end within the newest 5 %
   * of their list. The lists of small accounts hold fewer days.
   */
  readonly restHours: number;
}

export const ACCOUNTS: readonly Account[] = [
  { name: 'S', inboxes: 5, conversations: 5000, newADay: 60, restHours: 4 },
  { name: 'M', inboxes: 20, conversations: 60_000, newADay: 300, restHours: 12 },
  { name: 'L', inboxes: 100, conversations: 400_000, newADay: 1500, restHours: 24 },
];

/** The first day of every run, a Monday; epoch ms. */
export const START = Date.parse('2026-03-02T00:00:00Z');

/** Conversations in each inbox at the start, the largest first. */
export function sizesOf({ inboxes, conversations }: Account): number[] {
  return conversationCounts({ ...SANDBOX_DEFAULTS, inboxes, conversations: conversations / inboxes });
}

/** A day of the weekend has this share of a working day's changes (issue: 2 %). */
export const WEEKEND = 0.02;

/** People work from 8:00 to 18:00 UTC, most of them at 13:00; the bell's standard deviation is 2.5 hours. */
const OPENS = 8 * HOUR;
const CLOSES = 18 * HOUR;
const NOON = 13 * HOUR;
const BELL = 2.5 * HOUR;

export function isWeekend(at: number): boolean {
  return new Date(at).getUTCDay() % 6 === 0;
}

/** An instant of work on the day that begins at `day`. */
export function workingTime(day: number, random: Random): number {
  for (;;) {
    const at = NOON + BELL * normal(random);
    if (at >= OPENS && at < CLOSES) return day + Math.floor(at);
  }
}

/**
 * The instant at which people do what is due at `at`: at once in working hours, else on the next working day.
 * A little of what is due at a weekend happens there.
 */
export function whenDone(at: number, random: Random): number {
  const day = Math.floor(at / DAY) * DAY;
  const time = at - day;
  const isWorked = (of: number): boolean => !isWeekend(of) || random() < WEEKEND;
  if (time < CLOSES && isWorked(day)) return time >= OPENS ? at : workingTime(day, random);
  let next = day + DAY;
  while (!isWorked(next)) next += DAY;
  return workingTime(next, random);
}

/** A draw from the standard normal distribution. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A draw from the exponential distribution. */
export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random());
}

/** A draw from 0, 1, 2 …, geometric with this mean. */
export function geometric(random: Random, mean: number): number {
  return Math.floor(Math.log(1 - random()) / Math.log(mean / (1 + mean)));
}
