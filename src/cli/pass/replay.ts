import { LIST_NAMES, listId, type ListKey } from '../../core/lists.ts';
import type { Database } from '../../database/database.ts';
import { liveInboxes } from '../../mirror/items/inboxes.ts';
import { countSuspects } from '../../mirror/items/suspects.ts';
import type { Order } from '../../mirror/passes/orders.ts';
import { firstSweepOf, type OrderSweep, sweepsSince } from '../../mirror/passes/progress.ts';
import { lastComplete } from '../../mirror/sweeps/sweeps.ts';
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
  readonly #database: Database;
  readonly #onEvent: (event: PassEvent) => void;
  readonly #lists = new Map<string, Told>();
  #firstSweep: number | null = null;
  /** What had been read before anybody looked is no progress of ours. */
  #firstLook = true;

  constructor(database: Database, onEvent: (event: PassEvent) => void) {
    this.#database = database;
    this.#onEvent = onEvent;
  }

  /** Tells what is new since the last look. @returns whether anything was */
  async look(order: Order): Promise<boolean> {
    await this.#learnLists(order);
    this.#firstSweep ??= await firstSweepOf(this.#database, order);
    let moved = false;
    if (order.startedAt !== null) {
      const sweeps = await sweepsSince(this.#database, order.startedAt, this.#firstSweep);
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
    const inboxes = (await liveInboxes(this.#database)).filter(
      ({ id }) => inboxId === null || id === inboxId,
    );
    const keys = LIST_NAMES.filter((list) => lists.includes(list)).flatMap((list): ListKey[] =>
      list === 'inboxes' ? [{ list, inboxId: null }] : inboxes.map(({ id }) => ({ list, inboxId: id })),
    );
    for (const key of keys.filter((known) => !this.#lists.has(listId(known)))) {
      this.#lists.set(listId(key), { key, sweepId: null, pages: 0, report: null });
      const last = await lastComplete(this.#database, key);
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
    const suspects = await countSuspects(this.#database, this.#database, key);
    return { key, outcome: 'complete', items, inserted, changed, deleted, rejected, suspects, error: null };
  }
}
