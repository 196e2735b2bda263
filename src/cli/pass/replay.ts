import { keysOf, listId, type ListKey } from '../../core/lists.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import type { Order } from '../../mirror/passes/orders.ts';
import type { OrderSweep } from '../../mirror/passes/progress.ts';
import type { ListReport, PassEvent } from '../../sync/events.ts';
import { UNTOUCHED } from '../../sync/pass.ts';

/** How far a list has come, as it was last told. */
interface Told {
  readonly key: ListKey;
  sweepId: number | null;
  pages: number;
  report: ListReport | null;
}

/** How far an order has come, told in a pass's own events by what its sweeps have left in the database. */
export class OrderProgress {
  readonly #mirror: Mirror;
  readonly #onEvent: (event: PassEvent) => void;
  readonly #lists = new Map<string, Told>();
  #firstSweep: number | null = null;
  /** What had been read before anybody looked is no progress of ours. */
  #firstLook = true;

  constructor(mirror: Mirror, onEvent: (event: PassEvent) => void) {
    this.#mirror = mirror;
    this.#onEvent = onEvent;
  }

  /** Tells what is new since the last look. @returns whether anything was */
  async look(order: Order): Promise<boolean> {
    await this.#learnLists(order);
    this.#firstSweep ??= await this.#mirror.orderSweeps.firstId(order);
    let moved = false;
    if (order.startedAt !== null) {
      const sweeps = await this.#mirror.orderSweeps.since(order.startedAt, this.#firstSweep);
      const newest = new Map(sweeps.map((sweep) => [listId(sweep), sweep]));
      for (const [id, told] of this.#lists) {
        const sweep = newest.get(id);
        if (sweep !== undefined && (await this.#tell(told, sweep, order.startedAt))) moved = true;
      }
    }
    this.#firstLook = false;
    return moved;
  }

  /** Every list of the order as far as it has come: what is not complete goes on later. */
  reports(): ListReport[] {
    return Array.from(
      this.#lists.values(),
      ({ key, report }) => report ?? { key, outcome: 'paused', ...UNTOUCHED },
    );
  }

  /** The lists that the order is for; an inbox may be found on the way. */
  async #learnLists({ lists, inboxId }: Order): Promise<void> {
    const inboxes = (await this.#mirror.inboxes()).filter(({ id }) => inboxId === null || id === inboxId);
    const keys = keysOf(
      lists,
      inboxes.map(({ id }) => id),
    );
    for (const key of keys.filter((known) => !this.#lists.has(listId(known)))) {
      this.#lists.set(listId(key), { key, sweepId: null, pages: 0, report: null });
      const last = await this.#mirror.sweeps.lastComplete(key);
      this.#onEvent({ kind: 'list-known', key, expectedItems: last?.items ?? null });
    }
  }

  async #tell(told: Told, sweep: OrderSweep, begun: Date): Promise<boolean> {
    const { key } = told;
    // Complete is complete: a scheduled sweep after that is not the order's.
    if (told.report?.outcome === 'complete') return false;
    const isNew = told.sweepId !== sweep.id;
    if (isNew) {
      const before = this.#firstLook || sweep.startedAt < begun ? sweep.pages : 0;
      Object.assign(told, { sweepId: sweep.id, pages: before, report: null });
      // What was over before anybody looked was not gone on with.
      const over = this.#firstLook && sweep.state === 'complete';
      this.#onEvent({ kind: 'list-begun', key, resumedAtPage: over ? 0 : before });
    }
    const read = sweep.pages !== told.pages;
    if (read || (isNew && sweep.pages > 0)) {
      told.pages = sweep.pages;
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
    const ended = told.report === null && (sweep.state === 'complete' || sweep.state === 'failed');
    if (ended) {
      told.report = await this.#reportOf(key, sweep);
      this.#onEvent({ kind: 'list-done', report: told.report });
    }
    return isNew || read || ended;
  }

  async #reportOf(key: ListKey, { state, error, ...numbers }: OrderSweep): Promise<ListReport> {
    if (state === 'failed')
      return { key, outcome: 'failed', ...UNTOUCHED, error: new Error(error ?? 'cause unknown') };
    const { items, inserted, changed, deleted, rejected } = numbers;
    const suspects = await this.#mirror.suspects.count(key);
    return { key, outcome: 'complete', items, inserted, changed, deleted, rejected, suspects, error: null };
  }
}
