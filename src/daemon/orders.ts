import { type Clock, MINUTE } from '../core/clock.ts';
import { isMirrorError, MirrorError } from '../core/errors.ts';
import type { ListKey } from '../core/lists.ts';
import type { Writer } from '../mirror/mirror.ts';
import type { Order } from '../mirror/passes/orders.ts';
import type { Log } from '../session/log.ts';
import type { Client } from '../sync/deps.ts';
import type { PassEvent } from '../sync/events.ts';
import { type PassReport, runPass } from '../sync/pass.ts';
import { asRecord } from '../sync/record.ts';
import type { Trouble } from './troubles.ts';

export interface OrderDeskDeps {
  readonly client: Client;
  readonly mirror: Writer;
  readonly clock: Clock;
  readonly log: Log;
  readonly onEvent: (event: PassEvent) => void;
  /** Stops the scheduled sweeps of the lists that an order wants, after the page that each has in hand. */
  readonly makeWay: (isWanted: (key: ListKey) => boolean) => Promise<void>;
  /** An order has ended, or stopped short because of `error`; null where nothing is wrong. */
  readonly onEnd: (error: unknown) => void;
}

/** An order that used the budget up is gone on with at the earliest so much later, or it would be woken for every single request that frees. */
const BUDGET_REST_MS = MINUTE;

/** Carries out the orders that commands have placed, one after the other. */
export class OrderDesk {
  readonly #deps: OrderDeskDeps;
  readonly #logged = new Set<string>();
  #current: { readonly order: Order; readonly stop: AbortController; ended: Promise<void> } | null = null;
  #notBefore = 0;

  constructor(deps: OrderDeskDeps) {
    this.#deps = deps;
  }

  /** True for a list that the order in hand may sweep: no scheduled sweep of it may be under way beside it. */
  holds(key: ListKey): boolean {
    return this.#current !== null && isWanted(this.#current.order, key);
  }

  /**
   * Begins the oldest order, sweeping so many of its lists at once: in an outage one is enough to see that it lasts. A new one is begun whatever the trouble, as a person's command would be; one that stopped short
   * goes on when that is over.
   */
  async beginNext(trouble: Trouble | null, sideBySide: number): Promise<void> {
    if (this.#current !== null) return;
    const { mirror, clock } = this.#deps;
    const order = await mirror.orders.next();
    if (order === null) return;
    if (order.state === 'running' && (trouble !== null || clock.monotonic() < this.#notBefore)) return;
    this.#logOnce(order, order.startedAt === null ? 'order begun' : 'going on with an order');
    this.#current = { order, stop: new AbortController(), ended: Promise.resolve() };
    this.#current.ended = this.#carryOut(order, this.#current.stop.signal, sideBySide);
  }

  /** Stops the order in hand after its page; it stays to be gone on with. */
  async stop(why: string): Promise<void> {
    this.#current?.stop.abort(new MirrorError('STOPPED', why));
    await this.#current?.ended;
  }

  async #carryOut(order: Order, signal: AbortSignal, sideBySide: number): Promise<void> {
    const { client, mirror, clock, log, onEvent, makeWay, onEnd } = this.#deps;
    let problem: unknown = null;
    try {
      // A sync goes on with the pages that a scheduled sweep has read; a resync begins those lists anew.
      await makeWay((key) => isWanted(order, key));
      const report = await runPass({ client, mirror, clock, signal, onEvent }, order, sideBySide);
      await this.#reportEnd(order, report);
      problem = isMirrorError(report.stopped, 'KEY_REFUSED') ? null : report.stopped;
    } catch (error) {
      if (isMirrorError(error, 'USAGE')) log.warn({ order: order.id, cause: error.message }, 'order refused');
      else problem = error;
    } finally {
      this.#current = null;
      onEnd(problem);
    }
  }

  async #reportEnd(order: Order, { pass, lists, stopped }: PassReport): Promise<void> {
    const { mirror, clock, log } = this.#deps;
    if (stopped === null) {
      log.info({ order: order.id, lists: lists.length }, 'order done');
    } else if (isMirrorError(stopped, 'KEY_REFUSED')) {
      const report = asRecord({ lists, stopped });
      await mirror.passes.end(pass.id, { state: 'failed', error: stopped.message, report }, clock.now());
      log.error({ order: order.id, cause: stopped.message }, 'order failed');
    } else if (isMirrorError(stopped, 'BUDGET_SPENT')) {
      const wait = Math.max(BUDGET_REST_MS, (stopped.resumeAt?.getTime() ?? 0) - clock.now());
      this.#logOnce(order, 'order waits for the day budget');
      this.#notBefore = clock.monotonic() + wait;
    }
  }

  /** An order that takes what the budget leaves, request by request, is no news each time. */
  #logOnce({ id, kind, requestedBy }: Order, message: string): void {
    if (this.#logged.has(`${id} ${message}`)) return;
    this.#logged.add(`${id} ${message}`);
    this.#deps.log.info({ order: id, kind, by: requestedBy }, message);
  }
}

/** Lists that an order may sweep. It may have to read the inboxes first. */
function isWanted({ lists, inboxId }: Pick<Order, 'lists' | 'inboxId'>, key: ListKey): boolean {
  return (
    key.list === 'inboxes' || (lists.includes(key.list) && (inboxId === null || inboxId === key.inboxId))
  );
}
