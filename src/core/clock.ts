/** Where time comes from. Handed in everywhere, so that a test can turn it. */
export interface Clock {
  /** Wall clock, epoch milliseconds. A person can set it back or forward. */
  now(): number;
  /** Milliseconds that only ever grow, for measuring spans within this process. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** This run of the machine: the wall clock's reading at its boot, by the clock as it stands now. It moves only when the clock is set. */
  boot(): { readonly host: string; readonly id: string; readonly at: number };
}
