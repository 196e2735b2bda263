import { type ErrorCode, MirrorError } from '../core/errors.ts';
import { duration } from '../core/humanize.ts';
import { listId, type ListKey } from '../core/lists.ts';
import { LONGEST_HINT_MS } from '../core/retry-timing.ts';
import type { LatestSweep } from '../mirror/sweeps/reader.ts';

/** A sweep that paused with one of these errors failed itself. With any other, the pass was stopped. */
const OWN_FAILURES = new Set<ErrorCode | null>(['ANSWER_FAILED', 'SERVICE_DOWN', 'GATE_PAUSED']);

/** The newest sweeps of each list, as they were before a pass (docs/decisions/0004). */
export class PastSweeps {
  readonly #latest: ReadonlyMap<string, readonly LatestSweep[]>;

  /** @param latest newest first, by `listId` */
  constructor(latest: ReadonlyMap<string, readonly LatestSweep[]>) {
    this.#latest = latest;
  }

  /**
   * Splits lists by their kind. `doubtful`: a list of the kind failed last time. Kinds that stopped the pass
   * come last. Of each doubtful kind, the lists that did not fail themselves come first, then the one that was
   * tried longest ago.
   */
  split(keys: readonly ListKey[]): { promising: ListKey[]; doubtful: ListKey[] } {
    const failed = keys
      .filter((key) => this.#hasFailed(key))
      .toSorted((a, b) => this.#triedAt(a) - this.#triedAt(b));
    const kinds = new Set(failed.map(({ list }) => list));
    const stopping = new Set(failed.filter((key) => this.#stoppedThePass(key)).map(({ list }) => list));
    const kin = keys.filter((key) => kinds.has(key.list) && !this.#hasFailed(key));
    const doubtful = [...kin, ...failed].toSorted(
      (a, b) => Number(stopping.has(a.list)) - Number(stopping.has(b.list)),
    );
    return { promising: keys.filter(({ list }) => !kinds.has(list)), doubtful };
  }

  /**
   * @param now epoch ms
   * @throws MirrorError `ANSWER_FAILED` while the service asks to wait with this list
   */
  throwIfWaiting(key: ListKey, now: number): void {
    const until = this.#newest(key)?.retryAt?.getTime() ?? 0;
    const wait = until - now;
    // A longer wait is never stored: a clock was wrong.
    if (wait <= 0 || wait > LONGEST_HINT_MS) return;
    const resumeAt = new Date(until);
    throw new MirrorError(
      'ANSWER_FAILED',
      `The service asks to wait until ${resumeAt.toISOString()} (for ${duration(wait)}) with this list, so ` +
        'nothing was sent. `inbox-mirror doctor --reset-gate` ends the wait by hand.',
      { resumeAt },
    );
  }

  #hasFailed(key: ListKey): boolean {
    const last = this.#newest(key);
    return last?.state === 'paused' && OWN_FAILURES.has(last.errorCode);
  }

  /** Of a list that has failed. */
  #stoppedThePass(key: ListKey): boolean {
    return this.#newest(key)?.errorCode !== 'ANSWER_FAILED';
  }

  #triedAt(key: ListKey): number {
    return this.#newest(key)?.heartbeatAt.getTime() ?? 0;
  }

  #newest(key: ListKey): LatestSweep | undefined {
    return this.#latest.get(listId(key))?.[0];
  }
}
