import { listId, type ListKey } from '../../core/lists.ts';
import type { DueList } from '../../sync/planning/agenda.ts';

interface RunningSweep {
  readonly list: DueList;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** The sweeps under way. Each can be stopped between two pages. */
export class RunningSweeps {
  readonly #sweeps = new Map<string, RunningSweep>();

  lists(): DueList[] {
    return [...this.#sweeps.values()].map(({ list }) => list);
  }

  has(key: ListKey): boolean {
    return this.#sweeps.has(listId(key));
  }

  /** Starts to sweep a list. `work` must not reject. */
  start(list: DueList, work: (stop: AbortController) => Promise<void>): void {
    const stop = new AbortController();
    const ended = work(stop).finally(() => this.#sweeps.delete(listId(list.key)));
    this.#sweeps.set(listId(list.key), { list, stop, ended });
  }

  /** Stops the sweeps that `which` selects, and waits until each has applied its current page. */
  async stop(which: (key: ListKey) => boolean, why: Error): Promise<void> {
    const stopped = [...this.#sweeps.values()].filter(({ list }) => which(list.key));
    for (const { stop } of stopped) stop.abort(why);
    await Promise.all(stopped.map(({ ended }) => ended));
  }
}
