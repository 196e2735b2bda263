import type { Budget } from '../../core/budget.ts';
import { type Clock, SECOND } from '../../core/clock.ts';
import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { duration } from '../../core/humanize.ts';
import { listId, type ListKey } from '../../core/lists.ts';
import type { Writer } from '../../mirror/mirror.ts';
import type { Log } from '../../session/log.ts';
import type { AccountCheck } from '../../sync/account.ts';
import type { Client } from '../../sync/deps.ts';
import { type ListReport, NO_FIGURES, type PassEvent } from '../../sync/events.ts';
import { SIDE_BY_SIDE } from '../../sync/pass.ts';
import { readAgenda } from '../../sync/planning/agenda.ts';
import { reachIn, sweepList } from '../../sync/sweep.ts';
import { Cooldowns } from './cooldowns.ts';

export interface ScheduledSweepsDeps {
  readonly client: Client;
  readonly mirror: Writer;
  readonly account: AccountCheck;
  readonly clock: Clock;
  readonly goneAfterMs: number;
  readonly log: Log;
  readonly budget: Budget;
  readonly onEvent: (event: PassEvent) => void;
  /** An order sweeps this list. */
  readonly isOrdered: (key: ListKey) => boolean;
  readonly isOutage: () => boolean;
  /** The last test found another account. */
  readonly isOtherAccount: () => boolean;
  /** A sweep has failed for a reason that concerns more than its list. */
  readonly onError: (error: unknown) => void;
  /** A sweep has ended. */
  readonly onEnd: () => void;
}

/** While lists wait for budget, the agenda is read again after this many ms. */
const REPLAN_MS = 30 * SECOND;

/** The scheduled sweeps: the next ones, those under way, and the lists that cannot be read now. */
export class ScheduledSweeps {
  readonly #deps: ScheduledSweepsDeps;
  readonly #running = new RunningSweeps();
  readonly #cooldowns = new Cooldowns();
  #queue: ListKey[] = [];
  /** When the agenda is read next, monotonic ms. */
  #planAt = 0;
  #planNotBefore = 0;

  constructor(deps: ScheduledSweepsDeps) {
    this.#deps = deps;
  }

  /** Begins sweeps of lists that are due and fit the budget, up to `SIDE_BY_SIDE` at once. */
  async beginDue(): Promise<void> {
    const { clock } = this.#deps;
    const places = this.#mustTest() ? 1 : SIDE_BY_SIDE;
    if (this.#running.size >= places) return;
    if (clock.monotonic() >= Math.max(this.#planAt, this.#planNotBefore)) await this.#plan();
    while (this.#running.size < places) {
      const key = this.#queue.shift();
      if (key === undefined) return;
      if (!this.#isBusy(key)) this.#running.start(key, (signal) => this.#sweep(key, signal));
    }
  }

  /** Reads the agenda again at the next tick. */
  replan(): void {
    this.#planAt = 0;
  }

  /** The service answers again after an outage. */
  serviceIsBack(): void {
    this.#cooldowns.serviceIsBack();
    this.replan();
  }

  /**
   * A sweep or an order has ended, so another list may begin. With an empty queue the agenda is read again at
   * the next tick. Otherwise the queue fills the place, and the agenda is read within `REPLAN_MS`.
   */
  replanSoon(): void {
    const wait = this.#queue.length > 0 ? REPLAN_MS : 0;
    this.#planAt = Math.min(this.#planAt, this.#deps.clock.monotonic() + wait);
  }

  /** Stops the sweeps that `which` selects, and waits until each has applied its current page. */
  async stop(which: (key: ListKey) => boolean, why: string): Promise<void> {
    await this.#running.stop(which, why);
  }

  async #plan(): Promise<void> {
    const { clock, mirror, budget, log } = this.#deps;
    const mustTest = this.#mustTest();
    const agenda = await readAgenda(mirror, budget, (key) => this.#isBusy(key), clock.now());
    this.#queue = agenda.start.filter((key) => !this.#cooldowns.has(key, clock.monotonic()));
    // No due list can test the service: none is due, or each cools down.
    if (mustTest && this.#queue.length === 0 && agenda.left > 0) this.#queue = await this.#testList();
    // While nothing is due, only a slot, trouble, or the end of a sweep or order changes that; each replans.
    const isIdle = agenda.start.length + agenda.waiting.length === 0 && !mustTest;
    this.#planAt = isIdle ? Number.POSITIVE_INFINITY : clock.monotonic() + REPLAN_MS;
    if (agenda.waiting.length > 0)
      log.debug({ lists: agenda.waiting.length, until: agenda.until }, 'due, but waiting for the day budget');
  }

  /**
   * One list is enough to see whether the service answers again after an outage, or shows the mirror's
   * account again.
   */
  #mustTest(): boolean {
    return this.#deps.isOutage() || this.#deps.isOtherAccount();
  }

  /** The list that tests the service; empty if none is free. */
  async #testList(): Promise<ListKey[]> {
    const inboxes = await this.#deps.mirror.inboxes();
    const lists = this.#cooldowns.leastBlamed(inboxes);
    return lists.filter((key) => !this.#isBusy(key)).slice(0, 1);
  }

  async #sweep(key: ListKey, signal: AbortSignal): Promise<void> {
    const { client, mirror, account, clock, goneAfterMs, onEvent } = this.#deps;
    const done = (report: ListReport): void => onEvent({ kind: 'list-done', report });
    try {
      const deps = { client, mirror, account, clock, goneAfterMs, signal, onEvent };
      const consent = { acceptDeletes: false, acceptAccount: false };
      done(await sweepList(deps, key, { reason: 'schedule', ...consent }));
      this.#cooldowns.end(key);
    } catch (error) {
      const isFinal = reachIn(error, signal) === 'list';
      done({ key, outcome: isFinal ? 'failed' : 'paused', ...NO_FIGURES, error });
      this.#afterFailure(key, error, isFinal);
    } finally {
      this.#deps.onEnd();
    }
  }

  #afterFailure(key: ListKey, error: unknown, isFinal: boolean): void {
    const { clock, log, onError } = this.#deps;
    const isListFault = this.#isListFault(key, error);
    if (isListFault || isMirrorError(error, 'SERVICE_DOWN')) {
      const leastMs = (error.resumeAt?.getTime() ?? 0) - clock.now();
      const lasts = this.#cooldowns.begin(key, { now: clock.monotonic(), inOutage: !isListFault, leastMs });
      if (isListFault)
        log.warn(
          { list: listId(key), cause: error.message },
          `a list cannot be read; retrying in ${duration(lasts)}`,
        );
    }
    // A bug that this list meets rests it, however often its slots come.
    if (isFinal && !isMirrorError(error))
      this.#cooldowns.begin(key, { now: clock.monotonic(), inOutage: false });
    // Should the ledger and the agenda ever disagree, this limits the attempts to two a minute.
    if (isMirrorError(error, 'BUDGET_SPENT')) this.#planNotBefore = clock.monotonic() + REPLAN_MS;
    if (!isFinal && !isListFault) onError(error);
  }

  /** True if the list is at fault, not the service: others are answered, or only this list failed before. */
  #isListFault(key: ListKey, error: unknown): error is MirrorError {
    if (isMirrorError(error, 'ANSWER_FAILED')) return true;
    const failedBefore = this.#cooldowns.until(key) > 0;
    return isMirrorError(error, 'SERVICE_DOWN') && !this.#deps.isOutage() && failedBefore;
  }

  #isBusy(key: ListKey): boolean {
    return this.#running.has(key) || this.#deps.isOrdered(key);
  }
}

/** The sweeps under way. Each can be stopped between two pages. */
class RunningSweeps {
  readonly #sweeps = new Map<string, { key: ListKey; stop: AbortController; ended: Promise<void> }>();

  get size(): number {
    return this.#sweeps.size;
  }

  has(key: ListKey): boolean {
    return this.#sweeps.has(listId(key));
  }

  /** Starts to sweep a list. `work` must not reject. */
  start(key: ListKey, work: (signal: AbortSignal) => Promise<void>): void {
    const stop = new AbortController();
    const ended = work(stop.signal).finally(() => this.#sweeps.delete(listId(key)));
    this.#sweeps.set(listId(key), { key, stop, ended });
  }

  /** Stops the sweeps that `which` selects, and waits until each has applied its current page. */
  async stop(which: (key: ListKey) => boolean, why: string): Promise<void> {
    const stopped = [...this.#sweeps.values()].filter(({ key }) => which(key));
    for (const { stop } of stopped) stop.abort(new MirrorError('STOPPED', why));
    await Promise.all(stopped.map(({ ended }) => ended));
  }
}
