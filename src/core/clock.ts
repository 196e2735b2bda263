/** Milliseconds in a second, a minute, an hour and a day of 24 hours. */
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The source of time. Every part receives it as a parameter, so that tests control it. */
export interface Clock {
  /** Wall clock, epoch milliseconds. A person can set it back or forward. */
  now(): number;
  /** Milliseconds that never decrease, for measuring spans within this process. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when the signal is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * This run of the machine. `at` is when it booted, in epoch ms by the present wall clock, so it changes
   * only when the clock is set.
   */
  boot(): { readonly host: string; readonly id: string; readonly at: number };
}
