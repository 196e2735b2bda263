import { type Clock, MINUTE, SECOND } from '../../core/clock.ts';
import type { Log } from '../../session/log.ts';

/**
 * The file is first checked after this many ms, then after four times as long each time, and at most. A large
 * file takes minutes, and one check may take all that its disk can read.
 */
const FIRST_WAIT_MS = 5 * SECOND;
const LONGEST_WAIT_MS = 10 * MINUTE;

export interface DamagedFileDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly log: Pick<Log, 'error'>;
  /** Reads the whole file. Returns why it cannot be called whole; null if it is whole. */
  readonly check: (signal: AbortSignal) => Promise<string | null>;
}

/** Checks a file that seems damaged: SQLite says the same of a whole file that the disk fails to read. */
export class DamagedFile {
  readonly #deps: DamagedFileDeps;
  #waitMs = FIRST_WAIT_MS;
  /** When the last check found it whole; monotonic ms. */
  #wholeAt = Number.NEGATIVE_INFINITY;

  constructor(deps: DamagedFileDeps) {
    this.#deps = deps;
  }

  /**
   * Waits until a check finds the file whole. The waits keep growing where the daemon then fails again soon:
   * each time it sends requests whose answers it cannot store.
   * @throws the signal's reason
   */
  async untilWhole(signal: AbortSignal): Promise<void> {
    const { clock, log, check } = this.#deps;
    if (clock.monotonic() - this.#wholeAt > LONGEST_WAIT_MS) this.#waitMs = FIRST_WAIT_MS;
    for (let isReported = false; ; isReported = true) {
      await clock.sleep(this.#waitMs, signal);
      const begun = clock.monotonic();
      const damage = await check(signal);
      this.#wholeAt = clock.monotonic();
      this.#waitMs = Math.max(Math.min(4 * this.#waitMs, LONGEST_WAIT_MS), this.#wholeAt - begun);
      if (damage === null) return;
      if (!isReported)
        log.error(
          { cause: damage },
          'the check has not found the file whole; later ones follow, at first soon, then every 10 min',
        );
    }
  }
}
