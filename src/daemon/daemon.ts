import type { Budget } from '../core/budget.ts';
import { type Clock, DAY, FOLLOW_CLOCK_MS, SECOND, wasSet } from '../core/clock.ts';
import {
  type ErrorCode,
  isMirrorError,
  isPassingFailure,
  messageWithoutAdvice,
  messageOf,
} from '../core/errors.ts';
import type { ListName } from '../core/lists.ts';
import { type Access, accessId } from '../core/secrets.ts';
import type { OtherAccount } from '../mirror/gate/account.ts';
import type { Outage } from '../mirror/gate/outage.ts';
import type { Writer } from '../mirror/mirror.ts';
import type { Log } from '../session/log.ts';
import { AccountCheck } from '../sync/account/account.ts';
import type { SweepClient } from '../sync/deps.ts';
import type { PassEvent } from '../sync/events.ts';
import type { Cron } from '../sync/planning/cron.ts';
import { markDue } from '../sync/planning/due.ts';
import { DatabaseHealth } from './watches/database-health.ts';
import { OrderRunner } from './orders.ts';
import type { Pacer } from './sweeps/pacer.ts';
import type { SinglePages } from './sweeps/pages.ts';
import { ScheduledSweeps } from './sweeps/scheduled.ts';
import { accountTroubleOf, prolonged, TroubleLog, troubleOf } from './troubles.ts';

export interface DaemonDeps {
  readonly client: SweepClient;
  readonly mirror: Writer;
  readonly clock: Clock;
  /** Two sweeps are independent witnesses of an absence if this many ms lie between them. */
  readonly goneAfterMs: number;
  readonly log: Log;
  /** The schedules for the lists that the mirror has. */
  readonly readCrons: () => Promise<Readonly<Record<ListName, Cron>>>;
  readonly budget: Budget;
  readonly pacer: Pacer;
  /** Single pages are read as well; null: only whole lists are. */
  readonly readPages: SinglePages | null;
  /** The address and the key in use. */
  readonly access: () => Access;
  readonly onEvent: (event: PassEvent) => void;
  /** Receives after each tick why the database has let it, a sweep or an order fail; null if it has not. */
  readonly onFailure: (why: string | null) => void;
  /** Milliseconds between two ticks; default `POLL_MS`. */
  readonly pollMs?: number;
}

/** Milliseconds between two ticks. An order begins within two ticks. */
const POLL_MS = SECOND;

/** The next tick reads their state from SQL: budget, the gate's pause, refused key, another account. */
const READ_BY_TICK: readonly ErrorCode[] = [
  'STOPPED',
  'BUDGET_SPENT',
  'GATE_PAUSED',
  'KEY_REFUSED',
  'OTHER_ACCOUNT',
  'ANSWER_FAILED',
];

/**
 * Keeps the mirror fresh within the budget. It carries out orders first, then begins the sweeps that are due
 * and have a place, and waits while the service or the budget requires it. Everything that must survive a
 * restart is in SQL. The caller must hold the lease.
 */
export class Daemon {
  readonly #deps: DaemonDeps;
  readonly #sweeps: ScheduledSweeps;
  readonly #orders: OrderRunner;
  readonly #troubles: TroubleLog;
  readonly #database: DatabaseHealth;
  #outage: Outage | null = null;
  /** Settles when the outage is stored. A tick that reads an older one would test the service once more. */
  #written = Promise.resolve();
  #otherAccount: OtherAccount | null = null;
  #nextSlotAt = 0;
  /** When the ledger followed the clock (monotonic ms), and the boot's time as the clock showed it then. */
  #followed: { readonly monotonic: number; readonly at: number } | null = null;
  #wake = new AbortController();
  #fault: { readonly error: unknown } | null = null;
  #lastTickAt: number;
  #isAbandoned = false;

  constructor(deps: DaemonDeps) {
    this.#deps = deps;
    this.#lastTickAt = deps.clock.monotonic();
    this.#troubles = new TroubleLog(deps.log);
    this.#database = new DatabaseHealth(deps.clock);
    const onEvent = (event: PassEvent): void => this.#onEvent(event);
    const account = new AccountCheck(deps);
    this.#sweeps = new ScheduledSweeps({
      ...deps,
      account,
      onEvent,
      isOrdered: (key) => this.#orders.covers(key),
      isOutage: () => this.#outage !== null,
      isOtherAccount: () => this.#otherAccount !== null,
      onError: (error) => this.#handleWorkError(error),
      onEnd: () => this.#wakeUp(),
      onRead: () => this.#wake.abort(),
    });
    this.#orders = new OrderRunner({
      ...deps,
      account,
      onEvent,
      on429: (key, error) => this.#sweeps.giveWay(key, error),
      stopSweeps: (isWanted) => this.#sweeps.stop(isWanted, 'an order sweeps this list first'),
      onEnd: (error) => {
        if (error !== null) this.#handleWorkError(error);
        this.#sweeps.orderEnded();
        this.#wake.abort();
      },
    });
  }

  /**
   * Ticks until the signal is aborted.
   * @throws MirrorError `LEASE_LOST`, or an error that the daemon cannot survive
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, pollMs = POLL_MS } = this.#deps;
    while (!signal.aborted) {
      await this.tick();
      this.#lastTickAt = clock.monotonic();
      if (this.#fault !== null) throw this.#fault.error;
      this.#wake = new AbortController();
      await clock.sleep(pollMs, AbortSignal.any([signal, this.#wake.signal])).catch(() => undefined);
    }
  }

  /** When the last tick ended, or the daemon was made; monotonic ms. */
  get lastTickAt(): number {
    return this.#lastTickAt;
  }

  /** Stops sweeps and orders after their current pages. The next daemon resumes them. */
  async stop(): Promise<void> {
    const why = 'the daemon was stopped';
    await Promise.all([this.#sweeps.stop(() => true, why), this.#orders.stop(why)]);
  }

  /** Ignores later errors: work that has not stopped in time fails when the session closes. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** One step: begins everything that can begin now, and waits for none of it. */
  async tick(): Promise<void> {
    if (this.#database.rests) return;
    const { clock, mirror, access, onFailure } = this.#deps;
    try {
      await this.#followClock();
      await this.#markDue();
      await this.#written;
      const { gate, outage, otherAccount, ordered } = await mirror.loopState();
      const now = clock.now();
      this.#outage = outage;
      if (this.#otherAccount !== null && otherAccount === null) this.#sweeps.replan();
      this.#otherAccount = otherAccount;
      const trouble = troubleOf(gate, outage, access(), now) ?? accountTroubleOf(otherAccount, access(), now);
      // This daemon does not use the refused key, or not at that address, so the gate can open.
      if (gate.refusedKey !== null && trouble?.why !== 'key')
        await mirror.ledger.clearOtherRefusal(accessId(access()));
      // An outage whose retry is due has not ended yet; nor has another account whose test is due.
      if (trouble !== null || (outage === null && otherAccount === null)) this.#troubles.report(trouble, now);
      if (ordered || this.#orders.isBusy) await this.#orders.beginNext(trouble, this.#outage);
      if (trouble === null) await this.#sweeps.beginDue();
      onFailure(this.#database.writeFailure);
    } catch (error) {
      if (isPassingFailure(error)) onFailure(error.message);
      this.#handleError(error);
    }
  }

  /** Lets the ledger follow the clock, also while no request is sent. */
  async #followClock(): Promise<void> {
    const { clock, mirror } = this.#deps;
    const monotonic = clock.monotonic();
    // A server's time has no boot. It was set, too, if it differs from this process's own time.
    const at = clock.boot()?.at ?? clock.now() - monotonic;
    const last = this.#followed;
    const isSet = last === null || wasSet({ at }, last);
    if (!isSet && monotonic - last.monotonic < FOLLOW_CLOCK_MS) return;
    await mirror.ledger.followClock(await clock.ledgerTime());
    this.#followed = { monotonic, at };
    if (!isSet) return;
    this.#nextSlotAt = 0;
    this.#sweeps.replan();
  }

  /** Marks lists as due once a slot has passed or the clock was set, and keeps the slots for the views. */
  async #markDue(): Promise<void> {
    const { clock, mirror, log, readCrons } = this.#deps;
    const now = clock.now();
    if (now < this.#nextSlotAt) return;
    const crons = await readCrons();
    if (await markDue(mirror.schedules, crons, now)) this.#sweeps.replan();
    this.#nextSlotAt = Math.min(now + DAY, ...Object.values(crons).map((cron) => cron.next(now)));
    // Only the view `freshness` reads these slots. A failing database shows in what the tick does next.
    await mirror.keepSlots(crons, now).catch((error: unknown) => {
      log.warn({ cause: messageOf(error) }, 'the slots of the schedules were not written');
    });
  }

  #onEvent(event: PassEvent): void {
    this.#deps.onEvent(event);
    if (event.kind === 'unknown-ids') this.#sweeps.want(event.key, event.ids);
    const isPage = event.kind === 'page' || event.kind === 'page-read';
    // Only a write proves that the database works: a full disk can still be read. A sweep that had every page
    // when the database failed writes no further page: its end counts.
    if (isPage || (event.kind === 'list-done' && event.report.outcome === 'complete')) {
      this.#troubles.databaseWorks();
      this.#database.works();
    }
    if (!isPage || this.#outage === null) return;
    this.#troubles.outageOver(this.#outage, this.#deps.clock.now());
    this.#outage = null;
    this.#sweeps.serviceIsBack();
    this.#written = this.#writeOutage();
  }

  /** Handles an error of a sweep or an order. A tick that can read does not end a failed write. */
  #handleWorkError(error: unknown): void {
    this.#database.workFailed(error);
    this.#handleError(error);
  }

  /** Decides what an error means for the whole daemon: a wait, or its end. */
  #handleError(error: unknown): void {
    if (this.#isAbandoned) return;
    const { clock } = this.#deps;
    this.#sweeps.replan();
    if (isMirrorError(error, ...READ_BY_TICK)) return;
    if (isMirrorError(error, 'SERVICE_DOWN')) {
      this.#outage = prolonged(this.#outage, messageWithoutAdvice(error), clock.now(), error.resumeAt);
      this.#written = this.#writeOutage();
    } else if (isMirrorError(error, 'DATABASE', 'STATEMENT_REFUSED') && !error.isDamage) {
      this.#troubles.databaseFails(error);
      this.#database.fails();
    } else {
      this.#fault ??= { error };
    }
  }

  async #writeOutage(): Promise<void> {
    await this.#deps.mirror.writeOutage(this.#outage).catch((error: unknown) => this.#handleError(error));
  }

  #wakeUp(): void {
    this.#sweeps.replanSoon();
    this.#wake.abort();
  }
}
