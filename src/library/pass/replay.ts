import { keysOf, listId, type ListKey } from '../../core/lists.ts';
import { coversInbox, type Mirror } from '../../mirror/mirror.ts';
import type { Order } from '../../mirror/passes/orders.ts';
import type { OrderSweep } from '../../mirror/passes/order-sweeps.ts';
import { type ListReport, NO_FIGURES, type PassEvent } from '../../sync/events.ts';

/** A list's progress up to the last event. */
interface Replayed {
  readonly key: ListKey;
  sweepId: number | null;
  pages: number;
  report: ListReport | null;
}

/** Reads an order's sweeps from the database and emits the events that a pass in this process would emit. */
export class Replay {
  readonly #mirror: Mirror;
  readonly #onEvent: (event: PassEvent) => void;
  readonly #lists = new Map<string, Replayed>();
  #firstSweep: number | null = null;
  /** Pages that the first poll finds are not progress: they were read before this command began to follow. */
  #isFirstPoll = true;

  constructor(mirror: Mirror, onEvent: (event: PassEvent) => void) {
    this.#mirror = mirror;
    this.#onEvent = onEvent;
  }

  /** Emits the events since the last poll. @returns whether there were any */
  async poll(order: Order): Promise<boolean> {
    await this.#addLists(order);
    this.#firstSweep ??= await this.#mirror.orderSweeps.firstId(order);
    let moved = false;
    if (order.startedAt !== null) {
      const sweeps = await this.#mirror.orderSweeps.since(order.startedAt, this.#firstSweep);
      const newest = new Map(sweeps.map((sweep) => [listId(sweep), sweep]));
      for (const [id, replayed] of this.#lists) {
        const sweep = newest.get(id);
        if (sweep !== undefined && (await this.#replay(replayed, sweep, order.startedAt))) moved = true;
      }
    }
    this.#isFirstPoll = false;
    return moved;
  }

  /** The progress of each list of the order. A list that has not ended is reported as paused. */
  reports(): ListReport[] {
    return Array.from(
      this.#lists.values(),
      ({ key, report }) => report ?? { key, outcome: 'paused', ...NO_FIGURES },
    );
  }

  /** Adds the lists of the order. A sweep of the inboxes can find an inbox while the order runs. */
  async #addLists(order: Order): Promise<void> {
    const inboxes = (await this.#mirror.inboxes()).filter(({ id }) => coversInbox(order, id));
    const keys = keysOf(order.lists, inboxes);
    for (const key of keys.filter((known) => !this.#lists.has(listId(known)))) {
      this.#lists.set(listId(key), { key, sweepId: null, pages: 0, report: null });
      const last = await this.#mirror.sweeps.lastComplete(key);
      this.#onEvent({ kind: 'list-known', key, expectedItems: last?.items ?? null });
    }
  }

  async #replay(replayed: Replayed, sweep: OrderSweep, begun: Date): Promise<boolean> {
    const { key } = replayed;
    // Ignore later sweeps: the list is already complete for the order.
    if (replayed.report?.outcome === 'complete') return false;
    const isNew = replayed.sweepId !== sweep.id;
    if (isNew) {
      const before = this.#isFirstPoll || sweep.startedAt < begun ? sweep.pages : 0;
      Object.assign(replayed, { sweepId: sweep.id, pages: before, report: null });
      // A sweep that was complete at the first poll was not resumed.
      const wasComplete = this.#isFirstPoll && sweep.state === 'complete';
      this.#onEvent({ kind: 'list-begun', key, resumedAtPage: wasComplete ? 0 : before });
    }
    const hasMoved = sweep.pages !== replayed.pages;
    if (hasMoved || (isNew && sweep.pages > 0)) {
      replayed.pages = sweep.pages;
      const changed = sweep.inserted + sweep.changed;
      this.#onEvent({
        kind: 'page',
        key,
        pages: sweep.pages,
        items: sweep.items,
        changed,
        last: sweep.state === 'complete',
      });
    }
    const hasEnded = replayed.report === null && (sweep.state === 'complete' || sweep.state === 'failed');
    if (hasEnded) {
      replayed.report = await this.#reportOf(key, sweep);
      this.#onEvent({ kind: 'list-done', report: replayed.report });
    }
    return isNew || hasMoved || hasEnded;
  }

  async #reportOf(key: ListKey, { state, error, ...numbers }: OrderSweep): Promise<ListReport> {
    if (state === 'failed')
      return { key, outcome: 'failed', ...NO_FIGURES, error: new Error(error ?? 'cause unknown') };
    const { items, inserted, changed, deleted, rejected, withoutId, held } = numbers;
    const suspects = await this.#mirror.suspects.count(key);
    const rows = { items, inserted, changed, deleted, rejected, withoutId, suspects, held };
    return { key, outcome: 'complete', ...rows, error: null };
  }
}
