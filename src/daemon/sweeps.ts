import { MirrorError } from '../core/errors.ts';
import { listId, type ListKey } from '../core/lists.ts';

/** The scheduled sweeps that are under way, each with the means to stop it between two pages. */
export class RunningSweeps {
  readonly #sweeps = new Map<string, { key: ListKey; stop: AbortController; ended: Promise<void> }>();

  get size(): number {
    return this.#sweeps.size;
  }

  has(key: ListKey): boolean {
    return this.#sweeps.has(listId(key));
  }

  /** `work` must not reject. */
  start(key: ListKey, work: (signal: AbortSignal) => Promise<void>): void {
    const stop = new AbortController();
    const ended = work(stop.signal).finally(() => this.#sweeps.delete(listId(key)));
    this.#sweeps.set(listId(key), { key, stop, ended });
  }

  /** Stops those that `which` names, and waits until the page that each has in hand is applied. */
  async stop(which: (key: ListKey) => boolean, why: string): Promise<void> {
    const stopped = [...this.#sweeps.values()].filter(({ key }) => which(key));
    for (const { stop } of stopped) stop.abort(new MirrorError('STOPPED', why));
    await Promise.all(stopped.map(({ ended }) => ended));
  }
}

/** A list whose page failed again and again waits so long, and twice as long each time. */
const FIRST_MS = 5 * 60_000;
const LONGEST_MS = 60 * 60_000;

interface Rest {
  readonly until: number;
  readonly lasts: number;
  /** No other list was answered either. */
  readonly inOutage: boolean;
}

/** Lists that could not be read, each waiting before it is tried again: one broken list must not keep the others waiting. Times are monotonic ms. */
export class Rests {
  readonly #rests = new Map<string, Rest>();

  /** @returns how long the list rests, in ms */
  begin(key: ListKey, { now, inOutage }: { now: number; inOutage: boolean }): number {
    const lasts = Math.min((this.#rests.get(listId(key))?.lasts ?? FIRST_MS / 2) * 2, LONGEST_MS);
    this.#rests.set(listId(key), { until: now + lasts, lasts, inOutage });
    return lasts;
  }

  end(key: ListKey): void {
    this.#rests.delete(listId(key));
  }

  isResting(key: ListKey, now: number): boolean {
    return this.until(key) > now;
  }

  /** When the list's rest ends; 0 where it has none. */
  until(key: ListKey): number {
    return this.#rests.get(listId(key))?.until ?? 0;
  }

  /** The lists that cost least, those first that have never failed, then those that failed longest ago. */
  leastBlamed(inboxIds: readonly string[]): ListKey[] {
    const users = inboxIds.map((inboxId): ListKey => ({ list: 'users', inboxId }));
    return [{ list: 'inboxes' as const, inboxId: null }, ...users].toSorted(
      (a, b) => this.until(a) - this.until(b),
    );
  }

  /** The service answers again: where several lists failed with it, it was to blame; a single one may have been broken by itself. */
  serviceIsBack(): void {
    const inOutage = [...this.#rests].filter(([, rest]) => rest.inOutage);
    for (const [id, rest] of inOutage) {
      if (inOutage.length > 1) this.#rests.delete(id);
      else this.#rests.set(id, { ...rest, inOutage: false });
    }
  }
}
