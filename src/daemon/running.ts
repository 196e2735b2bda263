import { MirrorError } from '../core/errors.ts';
import { type ListKey, listId } from '../core/lists.ts';

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
