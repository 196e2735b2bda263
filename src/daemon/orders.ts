import { type Clock, HOUR, MINUTE } from '../core/clock.ts';
import { isMirrorError, MirrorError } from '../core/errors.ts';
import { duration } from '../core/humanize.ts';
import type { ListKey } from '../core/lists.ts';
import type { Outage } from '../mirror/gate/outage.ts';
import { coversInbox, type Writer } from '../mirror/mirror.ts';
import type { Order } from '../mirror/passes/orders.ts';
import type { Scope } from '../mirror/passes/scope.ts';
import type { Log } from '../session/log.ts';
import type { AccountCheck } from '../sync/account/account.ts';
import type { SweepClient } from '../sync/deps.ts';
import type { PassEvent } from '../sync/events.ts';
import { type PassReport, runPass } from '../sync/pass.ts';
import { PLACES } from '../sync/planning/planner.ts';
import { asRecord } from '../sync/record.ts';
import { Backoff } from './sweeps/rests/backoff.ts';
import { patientClient } from './sweeps/client-around.ts';
import { pauseEndAfter429 } from './sweeps/rests/faults.ts';
import type { Trouble } from './troubles.ts';

export interface OrderRunnerDeps {
  readonly client: SweepClient;
  readonly mirror: Writer;
  readonly account: AccountCheck;
  readonly clock: Clock;
  readonly goneAfterMs: number;
  readonly log: Log;
  readonly onEvent: (event: PassEvent) => void;
  /** Stops the scheduled sweeps of the lists that an order wants, after their current pages. */
  readonly stopSweeps: (isWanted: (key: ListKey) => boolean) => Promise<void>;
  /** A 429 for a list of an order has shut the gate. */
  readonly on429: (key: ListKey, error: unknown) => void;
  /** Called when an order has ended. @param error the reason if it stopped short, else null */
  readonly onEnd: (error: unknown) => void;
}

/** An order that ends so is over: a person must correct the configuration, then order again. */
const NEED_A_PERSON = ['KEY_REFUSED', 'OTHER_ACCOUNT'] as const;

/** After the database has refused what an order writes, none is tried for this many ms. */
const REFUSED_WAIT_MS = 5 * MINUTE;

/**
 * For this many ms after a pause that an order's own 429 has begun, and once an outage may be tested, other
 * lists go first. A list of the order may be broken alone: it would be the only test for as long as it is.
 */
const GIVE_WAY_MS = 5 * MINUTE;

const BUDGET_WAIT = 'an order waits for the budget of the day, and scheduled lists wait for the order';

/** The order that is under way. */
interface Current {
  readonly order: Order;
  readonly stop: AbortController;
  /** Its pass sweeps the list of inboxes, which the order need not name. */
  sweepsInboxes: boolean;
  ended: Promise<void>;
}

/** Carries out the orders that commands have placed, one after the other. */
export class OrderRunner {
  readonly #deps: OrderRunnerDeps;
  readonly #logged = new Set<string>();
  /** The waits of orders that were not answered, by id. */
  readonly #unanswered = new Backoff({ firstMs: MINUTE, longestMs: HOUR });
  #current: Current | null = null;
  /** An order is resumed no earlier than this, monotonic ms. */
  #notBefore = 0;
  /** No order is tried earlier than this, monotonic ms. */
  #restUntil = 0;

  constructor(deps: OrderRunnerDeps) {
    this.#deps = deps;
  }

  /** True for a list that the current order may sweep: no scheduled sweep of it may begin. */
  covers(key: ListKey): boolean {
    if (this.#current === null) return false;
    const { order, sweepsInboxes } = this.#current;
    return isWanted(order, key) || (sweepsInboxes && key.list === 'inboxes');
  }

  /** True while an order is under way. */
  get isBusy(): boolean {
    return this.#current !== null;
  }

  /**
   * Begins or resumes the oldest order, or stops the current one if a person has cancelled it. A new order
   * begins even in trouble, as a person's command would; one that stopped short waits until the trouble is
   * over, and leaves the test of an outage to others.
   */
  async beginNext(trouble: Trouble | null, outage: Outage | null): Promise<void> {
    if (this.#current !== null) return await this.#stopIfCancelled(this.#current);
    const { mirror, clock } = this.#deps;
    if (clock.monotonic() < this.#restUntil) return;
    const order = await mirror.orders.next();
    if (order === null) return;
    // Without trouble, an outage that ends later was written by a clock that was ahead.
    const testable = outage === null ? Infinity : Math.abs(clock.now() - outage.until.getTime());
    const mayResume = trouble === null && testable >= GIVE_WAY_MS && clock.monotonic() >= this.#notBefore;
    if (order.state === 'running' && !mayResume) return;
    this.#logOnce(order, order.startedAt === null ? 'order started' : 'resuming an order');
    const stop = new AbortController();
    this.#current = { order, stop, sweepsInboxes: false, ended: Promise.resolve() };
    // In an outage one list is enough to test the service.
    this.#current.ended = this.#carryOut(this.#current, outage === null ? PLACES : 1);
  }

  /** Stops the current order after its current pages. The next daemon resumes it. */
  async stop(why: string): Promise<void> {
    this.#current?.stop.abort(new MirrorError('STOPPED', why));
    await this.#current?.ended;
  }

  async #stopIfCancelled({ order, stop }: Current): Promise<void> {
    if (stop.signal.aborted) return;
    const found = await this.#deps.mirror.orders.read(order.id);
    if (found?.state !== 'abandoned' || stop.signal.aborted) return;
    this.#deps.log.info({ order: order.id }, 'order cancelled');
    stop.abort(new MirrorError('STOPPED', 'a person cancelled the order'));
  }

  async #carryOut(current: Current, places: number): Promise<void> {
    const { order, stop } = current;
    const { mirror, account, clock, goneAfterMs, log, onEvent, stopSweeps, onEnd } = this.#deps;
    // If the order stopped instead, its questions about rows that are gone would begin again each time, and
    // never end where the requests of the window become free singly.
    const logWait = (): void => this.#logOnce(order, BUDGET_WAIT, 'warn');
    const client = patientClient(this.#deps.client, clock, logWait);
    let problem: unknown = null;
    try {
      // A sync then resumes the stopped sweeps; a resync reads their lists from the first page.
      await stopSweeps((key) => isWanted(order, key));
      const beforeInboxes = async (): Promise<void> => {
        current.sweepsInboxes = true;
        await stopSweeps(({ list }) => list === 'inboxes');
      };
      const { signal } = stop;
      const deps = { client, mirror, account, clock, goneAfterMs, signal, onEvent, beforeInboxes };
      const refusal = await this.#refusalOf(order);
      const report =
        refusal === null
          ? await runPass(deps, order, places)
          : { pass: await mirror.passes.begin(order, clock.now()), lists: [], stopped: refusal };
      await this.#reportEnd(order, report);
      this.#giveWay(order, report);
      problem = isMirrorError(report.stopped, ...NEED_A_PERSON) ? null : report.stopped;
    } catch (error) {
      if (isMirrorError(error, 'USAGE')) log.warn({ order: order.id, cause: error.message }, 'order refused');
      else if (isMirrorError(error, 'STATEMENT_REFUSED')) this.#rest(order, error);
      else problem = error;
    } finally {
      this.#current = null;
      onEnd(problem);
    }
  }

  /**
   * Why a consent to another account is not carried out. Once its pass has read the inboxes, the consent has
   * ended, and the access is tested like any other.
   */
  async #refusalOf({ id, acceptAccount, access }: Order): Promise<MirrorError | null> {
    const { mirror, account } = this.#deps;
    const last = acceptAccount ? await mirror.passes.lastConsent() : null;
    if (!acceptAccount || last === id) return null;
    if (access !== account.accessId()) return foreignConsent(access);
    const isReplaced = last !== null && last > id;
    return isReplaced && (await mirror.account()).access !== access ? replacedConsent() : null;
  }

  async #reportEnd(order: Order, { pass, lists, stopped }: PassReport): Promise<void> {
    const { mirror, clock, log } = this.#deps;
    if (stopped === null) {
      log.info({ order: order.id, lists: lists.length }, 'order done');
    } else if (isMirrorError(stopped, ...NEED_A_PERSON)) {
      const report = asRecord({ lists, stopped });
      await mirror.passes.end(pass.id, { state: 'failed', error: stopped.message, report }, clock.now());
      log.error({ order: order.id, cause: stopped.message }, 'order failed');
    }
  }

  /** Lets other lists go first, if requests of the order drew 429s or were not answered. */
  #giveWay({ id }: Order, { lists, stopped }: PassReport): void {
    const { clock, on429 } = this.#deps;
    const now = clock.monotonic();
    for (const { key, error } of lists) {
      const pauseEnds = pauseEndAfter429(error, clock);
      if (pauseEnds === null) continue;
      on429(key, error);
      // A list that alone draws 429s leaves the others half of the time, as a scheduled sweep of it does.
      const lasts = isMirrorError(error, 'ANSWER_FAILED') ? pauseEnds - now : 0;
      this.#notBefore = Math.max(this.#notBefore, pauseEnds + Math.max(GIVE_WAY_MS, lasts));
    }
    if (isMirrorError(stopped, 'SERVICE_DOWN'))
      this.#notBefore = now + this.#unanswered.begin(String(id), now);
  }

  /** The schedules need not wait for what refuses an order alone. */
  #rest({ id }: Order, { message: cause }: MirrorError): void {
    const { clock, log } = this.#deps;
    this.#restUntil = clock.monotonic() + REFUSED_WAIT_MS;
    const isNew = !this.#logged.has(`${id} refused`);
    this.#logged.add(`${id} refused`);
    if (isNew) log.error({ order: id, cause }, `an order fails; retrying every ${duration(REFUSED_WAIT_MS)}`);
  }

  /** Logs a message once for each order: it may stop and resume, and wait for the budget, many times. */
  #logOnce({ id, kind, requestedBy }: Order, message: string, level: 'info' | 'warn' = 'info'): void {
    if (this.#logged.has(`${id} ${message}`)) return;
    this.#logged.add(`${id} ${message}`);
    this.#deps.log[level]({ order: id, kind, by: requestedBy }, message);
  }
}

/** @param access of the command; null: an earlier version placed the order */
function foreignConsent(access: string | null): MirrorError {
  if (access === null)
    return new MirrorError(
      'OTHER_ACCOUNT',
      'An earlier version of this program placed the order, without the key and address of its command: ' +
        'the daemon could accept another account. Nothing was read; run the command again.',
    );
  return new MirrorError(
    'OTHER_ACCOUNT',
    'The daemon reads the service with another key or address than the command that gave the consent, so ' +
      'it would accept the account that it sees itself. Nothing was read. Restart the daemon with the ' +
      "command's INBOX_API_KEY and INBOX_API_URL, or stop it, and run the command again.",
  );
}

function replacedConsent(): MirrorError {
  return new MirrorError(
    'OTHER_ACCOUNT',
    'After this consent a person accepted another account, so the consent has ended. Nothing was read. If ' +
      "the mirror shall change to the account of the daemon's key, run the command again.",
  );
}

/** True for the lists that an order names. */
function isWanted(scope: Scope, key: ListKey): boolean {
  return scope.lists.includes(key.list) && (key.list === 'inboxes' || coversInbox(scope, key.inboxId));
}
