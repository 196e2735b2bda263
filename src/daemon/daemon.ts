import type { Clock } from '../core/clock.ts';
import { isMirrorError, type MirrorError } from '../core/errors.ts';
import type { GateState } from '../core/gate-state.ts';
import { duration } from '../core/humanize.ts';
import { listId, type ListKey, type ListName } from '../core/lists.ts';
import type { Outage } from '../mirror/gate/outage.ts';
import type { Store } from '../mirror/mirror.ts';
import type { Client } from '../service/client.ts';
import type { Log } from '../session/log.ts';
import type { ListReport, PassEvent } from '../sync/events.ts';
import { SIDE_BY_SIDE, UNTOUCHED } from '../sync/pass.ts';
import { type AgendaLimits, readAgenda } from '../sync/planning/agenda.ts';
import type { Cron } from '../sync/planning/cron.ts';
import { markDue } from '../sync/planning/due.ts';
import { sweepList } from '../sync/sweep.ts';
import { OrderDesk } from './orders.ts';
import { Rests, RunningSweeps } from './sweeps.ts';
import { prolonged, type Trouble, TroubleLog, troubleOf } from './troubles.ts';

export interface DaemonDeps {
  readonly client: Client;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly crons: Readonly<Record<ListName, Cron>>;
  readonly limits: AgendaLimits;
  /** The fingerprint of the key in use. */
  readonly key: () => string;
  readonly onEvent: (event: PassEvent) => void;
  /** Milliseconds between two looks at what there is to do. */
  readonly pollMs?: number;
}

/** An order is begun within two of these. */
const POLL_MS = 1000;

/** What waits for budget is looked at again so often: an order may have ended sooner than it was thought to. */
const REPLAN_MS = 30_000;

/** A database that fails is tried again after so long, then after twice as long each time: a server that is restarted is back in seconds, a disk stays full. */
const FIRST_REST_MS = 1000;
const LONGEST_REST_MS = 30_000;
const JUMP_MS = 1000;

/**
 * Keeps the mirror fresh within the budget: begins what is due and fits, carries out orders before that, waits when the service or the budget
 * says so. All that must outlive it stands in SQL; it must hold the lease.
 */
export class Daemon {
  readonly #deps: DaemonDeps;
  readonly #running = new RunningSweeps();
  readonly #troubles: TroubleLog;
  readonly #orders: OrderDesk;
  readonly #rests = new Rests();
  #queue: ListKey[] = [];
  #planAt = 0;
  #planNotBefore = 0;
  #nextSlotAt = 0;
  #restUntil = 0;
  #rest = 0;
  #outage: Outage | null = null;
  #boot: number | null = null;
  #wake = new AbortController();
  #fault: { readonly error: unknown } | null = null;
  #lookedAt: number;

  constructor(deps: DaemonDeps) {
    this.#deps = deps;
    this.#lookedAt = deps.clock.monotonic();
    this.#troubles = new TroubleLog(deps.log);
    this.#orders = new OrderDesk({
      ...deps,
      onEvent: (event) => this.#heed(event),
      makeWay: (isWanted) => this.#running.stop(isWanted, 'an order goes before it'),
      onEnd: (error) => {
        if (error !== null) this.#take(error);
        this.#wakeUp();
      },
    });
  }

  /** Looks at what there is to do, again and again, until the signal. @throws MirrorError `LEASE_LOST`, or what no daemon can mend */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, pollMs = POLL_MS } = this.#deps;
    while (!signal.aborted) {
      await this.tick();
      this.#lookedAt = clock.monotonic();
      if (this.#fault !== null) throw this.#fault.error;
      this.#wake = new AbortController();
      await clock.sleep(pollMs, AbortSignal.any([signal, this.#wake.signal])).catch(() => undefined);
    }
  }

  /** When the last look ended, or this was made; monotonic ms. */
  get lookedAt(): number {
    return this.#lookedAt;
  }

  /** Stops everything under way after the page that it has in hand; what is not done stays to be gone on with. */
  async stop(): Promise<void> {
    const why = 'the daemon was stopped';
    await Promise.all([this.#running.stop(() => true, why), this.#orders.stop(why)]);
  }

  /** One look: begins what can begin now, and does not wait for it. */
  async tick(): Promise<void> {
    const { clock, store } = this.#deps;
    if (clock.monotonic() < this.#restUntil) return;
    try {
      await this.#followClock();
      await this.#markDue();
      const { gate, outage, ordered } = await store.glance();
      const trouble = await this.#heedTrouble(gate, outage);
      if (ordered) await this.#orders.take(trouble, this.#outage === null ? SIDE_BY_SIDE : 1);
      if (trouble === null) await this.#beginDue();
    } catch (error) {
      this.#take(error);
    }
  }

  async #followClock(): Promise<void> {
    const { clock, store } = this.#deps;
    const boot = clock.boot();
    if (this.#boot !== null && Math.abs(boot.at - this.#boot) <= JUMP_MS) return;
    await store.ledger.followClock(boot, clock.now());
    this.#boot = boot.at;
    this.#planAt = 0;
    this.#nextSlotAt = 0;
  }

  /** Only where a slot has passed, or the clock was set, is there anything to mark. */
  async #markDue(): Promise<void> {
    const { clock, store, crons } = this.#deps;
    const now = clock.now();
    if (now < this.#nextSlotAt) return;
    if (await markDue(store, crons, now)) this.#planAt = 0;
    this.#nextSlotAt = Math.min(...Object.values(crons).map((cron) => cron.next(now)));
  }

  async #heedTrouble(gate: GateState, outage: Outage | null): Promise<Trouble | null> {
    const { clock, store, key } = this.#deps;
    const now = clock.now();
    this.#outage = outage;
    const trouble = troubleOf(gate, outage, key(), now);
    // That another key was refused once is no news.
    if (gate.refusedKey !== null && trouble?.why !== 'key') await store.ledger.allowKey();
    // Between two tries of an outage nothing has ended yet.
    if (trouble !== null || outage === null) this.#troubles.note(trouble, now);
    return trouble;
  }

  async #beginDue(): Promise<void> {
    const { clock, store, limits, log } = this.#deps;
    // In an outage one list is enough to see whether the service is back.
    const places = this.#outage === null ? SIDE_BY_SIDE : 1;
    if (this.#running.size >= places) return;
    if (clock.monotonic() >= Math.max(this.#planAt, this.#planNotBefore)) {
      const agenda = await readAgenda(store, limits, (key) => this.#isBusy(key), clock.now());
      this.#queue = agenda.start.filter((key) => !this.#rests.isResting(key, clock.monotonic()));
      // Whether the service is back no list can tell that failed by itself.
      if (this.#outage !== null && this.#queue.length === 0 && agenda.left > 0)
        this.#queue = this.#rests
          .leastBlamed((await store.liveInboxes()).map(({ id }) => id))
          .filter((key) => !this.#isBusy(key))
          .slice(0, 1);
      // Where nothing is due, only a slot, the end of a sweep or an order, or trouble can make it so; each of them asks for a new plan.
      const idle = agenda.start.length + agenda.waiting.length === 0 && this.#outage === null;
      this.#planAt = idle ? Number.POSITIVE_INFINITY : clock.monotonic() + REPLAN_MS;
      if (agenda.waiting.length > 0)
        log.debug(
          { lists: agenda.waiting.length, until: agenda.until },
          'due, but waiting for the day budget',
        );
    }
    while (this.#running.size < places) {
      const key = this.#queue.shift();
      if (key === undefined) return;
      if (!this.#isBusy(key)) this.#running.start(key, (signal) => this.#sweep(key, signal));
    }
  }

  async #sweep(key: ListKey, signal: AbortSignal): Promise<void> {
    const { client, store, clock, onEvent } = this.#deps;
    const deps = { client, store, clock, signal, onEvent: (event: PassEvent) => this.#heed(event) };
    const done = (report: ListReport): void => onEvent({ kind: 'list-done', report });
    try {
      done(await sweepList(deps, key, { reason: 'schedule', acceptDeletes: false }));
      this.#rests.end(key);
    } catch (error) {
      const hopeless = isMirrorError(error, 'REQUEST_REFUSED', 'TOKEN_REFUSED', 'BAD_ANSWER', 'ENDLESS_LIST');
      done({ key, outcome: hopeless ? 'failed' : 'paused', ...UNTOUCHED, error });
      const alone = this.#isItsOwn(key, error);
      if (alone || isMirrorError(error, 'SERVICE_DOWN')) this.#letRest(key, error, alone);
      // Should the ledger and the agenda ever disagree, they do so twice a minute.
      if (isMirrorError(error, 'BUDGET_SPENT')) this.#planNotBefore = clock.monotonic() + REPLAN_MS;
      if (!hopeless && !alone) this.#take(error);
    } finally {
      this.#wakeUp();
    }
  }

  /** A page that was applied ends an outage. */
  #heed(event: PassEvent): void {
    this.#deps.onEvent(event);
    // Only what was written proves that it can be: a full disk can be read.
    if (event.kind === 'page') {
      this.#troubles.databaseWorks();
      this.#rest = 0;
    }
    if (event.kind !== 'page' || this.#outage === null) return;
    this.#troubles.over(this.#outage, this.#deps.clock.now());
    this.#outage = null;
    this.#rests.serviceIsBack();
    this.#planAt = 0;
    void this.#noteOutage();
  }

  /** Decides what an error means for all: a wait, or the end. What is only one list's was settled before. */
  #take(error: unknown): void {
    const { clock } = this.#deps;
    this.#planAt = 0;
    // The budget, the gate's pause and the refused key stand in SQL; the next look sees them.
    if (isMirrorError(error, 'STOPPED', 'BUDGET_SPENT', 'GATE_PAUSED', 'KEY_REFUSED', 'ANSWER_FAILED'))
      return;
    if (isMirrorError(error, 'SERVICE_DOWN')) {
      const cause = error.cause instanceof Error ? error.cause.message : error.message;
      this.#outage = prolonged(this.#outage, cause, clock.now());
      void this.#noteOutage();
    } else if (isMirrorError(error, 'DATABASE')) {
      this.#troubles.databaseFails(error);
      // Lists that are swept side by side fail together.
      if (clock.monotonic() < this.#restUntil) return;
      this.#rest = Math.min(Math.max(2 * this.#rest, FIRST_REST_MS), LONGEST_REST_MS);
      this.#restUntil = clock.monotonic() + this.#rest;
    } else {
      this.#fault ??= { error };
    }
  }

  async #noteOutage(): Promise<void> {
    await this.#deps.store.writeOutage(this.#outage).catch((error: unknown) => this.#take(error));
  }

  /** True where a list fails and the service does not: others were answered meanwhile, or the list has failed before and nothing else has. */
  #isItsOwn(key: ListKey, error: unknown): error is MirrorError {
    if (isMirrorError(error, 'ANSWER_FAILED')) return true;
    return isMirrorError(error, 'SERVICE_DOWN') && this.#outage === null && this.#rests.until(key) > 0;
  }

  #letRest(key: ListKey, { message: cause }: MirrorError, alone: boolean): void {
    const lasts = this.#rests.begin(key, { now: this.#deps.clock.monotonic(), inOutage: !alone });
    if (alone)
      this.#deps.log.warn(
        { list: listId(key), cause },
        `a list cannot be read, trying it again in ${duration(lasts)}`,
      );
  }

  #isBusy(key: ListKey): boolean {
    return this.#running.has(key) || this.#orders.holds(key);
  }

  #wakeUp(): void {
    this.#planAt = Math.min(
      this.#planAt,
      this.#deps.clock.monotonic() + (this.#queue.length > 0 ? REPLAN_MS : 0),
    );
    this.#wake.abort();
  }
}
