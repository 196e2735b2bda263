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
  /** The run of the machine; null for a database server's time, for which no machine vouches. */
  boot(): Boot | null;
  /** Reads the time for the ledger and its voucher: afresh from the database's server, if there is one. */
  ledgerTime(): Promise<LedgerTime>;
}

/** The time by which all processes of a mirror count requests. */
export interface LedgerTime {
  /** Epoch ms. */
  readonly now: number;
  readonly boot: Boot | null;
}

/** A run of a machine. Its containers share it, whatever their names. */
export interface Boot {
  /** Null if the system names none: a run is then known by `at` alone. */
  readonly id: string | null;
  /** When the machine booted, epoch ms by the present wall clock: it changes only when the clock is set. */
  readonly at: number;
}

/** A difference of up to this many ms does not count as a set clock. */
export const CLOCK_TOLERANCE_MS = 1000;

/**
 * The ledger follows the clock at least this often (ms). After a boot, requests are as old as they were at
 * the last time.
 */
export const FOLLOW_CLOCK_MS = 10 * MINUTE;

/** True if the wall clock was set between two readings of the same run of a machine. */
export function wasSet(boot: Pick<Boot, 'at'>, last: Pick<Boot, 'at'>): boolean {
  return Math.abs(boot.at - last.at) > CLOCK_TOLERANCE_MS;
}
