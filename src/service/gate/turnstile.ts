import type Bottleneck from 'bottleneck';
import { unlessAborted } from '../../core/abortable.ts';
import { IN_FLIGHT, scheduledCap } from '../../core/budget.ts';
import { FOLLOW_CLOCK_MS, type LedgerTime, SECOND, wasSet } from '../../core/clock.ts';
import type { MirrorError } from '../../core/errors.ts';
import { judgePause } from '../../core/gate-state.ts';
import {
  type Confirmation,
  type Ledger,
  type LedgerRow,
  type RequestEntry,
  SCHEDULED_REASONS,
} from '../../core/ledger.ts';
import { type Access, accessId } from '../../core/secrets.ts';
import { gatePaused, grantedTooLate, refusedBefore } from './errors.ts';
import { bottleneckOn } from './limiter.ts';
import { LEDGER_POLL_MS, Reservoir, type ReservoirOptions, WORTH_WORDS_MS } from './reservoir.ts';
import { latestStartMs, OwnRequests, unansweredMs } from './spacing.ts';
import { Throttle } from './throttle.ts';

/** The lowest number goes first: a person's command, then checks of suspects, then scheduled work. */
const PRIORITY = { manual: 1, resync: 1, probe: 4, schedule: 7, page: 7 } as const;

/** A call stops at its third slot in a row that comes too late. */
const MOST_LATE = 3;

export interface TurnstileOptions extends ReservoirOptions {
  readonly ledger: Ledger;
  /** The key and the address in use: a refusal holds for both together. */
  readonly access: () => Access;
  /**
   * Called after the ledger has recorded a request and before it leaves. If its slot is old by then, it is
   * withdrawn: the caller has counted one too many.
   */
  readonly onGranted?: (request: LedgerRow) => void;
  /** Called whenever a request waits for the end of a pause. */
  readonly onPaused?: (cause: string, until: Date) => void;
  /** Called when a request waits until then (epoch ms) because 429s have lengthened the gap. */
  readonly onSlowed?: (until: number) => void;
  /** The gate waits out a pause of this length; a longer one throws. Default: `PATIENCE_MS`. */
  readonly patienceMs?: number;
}

/** A request that waits for a slot. */
export interface SlotRequest {
  readonly entry: RequestEntry;
  /** True if scheduled work needs the request, which then may not use the reserve. Default: by `reason`. */
  readonly scheduled?: boolean;
  /** Cancels the request while it waits. A sent request is always read. */
  readonly signal?: AbortSignal | undefined;
}

/** True if scheduled work needs the request. */
export function isScheduled({ entry, scheduled }: SlotRequest): boolean {
  return scheduled ?? SCHEDULED_REASONS.includes(entry.reason);
}

/** A request in the ledger. `start`: when it leaves; `recordedAt`: its time in the ledger; monotonic ms. */
export interface Slot {
  readonly id: number;
  /** Sent alone after a pause; a good answer ends the pause. */
  readonly isTrial: boolean;
  /** The access that the request uses, as {@link accessId} names it. */
  readonly access: string;
  readonly start: number;
  readonly recordedAt: number;
}

/** Lets requests leave one by one, in order of priority, spaced by arrival, each with a row in the ledger. */
export class Turnstile {
  readonly #options: TurnstileOptions;
  readonly #gapMs: number;
  readonly #queue: Bottleneck;
  readonly #throttle: Throttle;
  readonly #own = new OwnRequests();
  /** The time that the ledger followed last, with its monotonic ms. */
  #followed: (LedgerTime & { readonly at: number }) | null = null;
  #isDoubted = false;
  /** The slowdown that the ledger named last, and when this process's last request left (monotonic ms). */
  #slowdown = 1;
  #lastStart = Number.NEGATIVE_INFINITY;
  readonly #reservoir: Reservoir;

  constructor(options: TurnstileOptions) {
    this.#options = options;
    this.#gapMs = SECOND / options.budget.perSecond;
    const Limiter = bottleneckOn(options.clock);
    this.#queue = new Limiter({ maxConcurrent: 1 });
    this.#throttle = new Throttle({ clock: options.clock, Limiter, gapMs: this.#gapMs, inFlight: IN_FLIGHT });
    this.#reservoir = new Reservoir(options, this.#throttle);
  }

  /**
   * Waits for a slot, then calls `send` in it. A cancelled request stops waiting at once.
   * @returns the slot and the promise of `send`, as soon as the request has left
   * @throws MirrorError `KEY_REFUSED`, `BUDGET_SPENT` or `GATE_PAUSED`
   * @throws the signal's reason
   */
  async enter<Result>(
    request: SlotRequest,
    send: (slot: Slot) => Promise<Result>,
  ): Promise<{ slot: Slot; sent: Promise<Result> }> {
    const { entry, signal } = request;
    signal?.throwIfAborted();
    let hasTurn = false;
    const turn = this.#queue.schedule({ priority: PRIORITY[entry.reason] }, async () => {
      hasTurn = true;
      signal?.throwIfAborted();
      const { slot, end } = await this.#waitForSlot(request);
      const sent = send(slot);
      sent.then(end, end);
      return { slot, sent };
    });
    return await unlessAborted(turn, signal, () => hasTurn);
  }

  /** Records when a request was answered (monotonic ms), for the spacing of the next. */
  answered(slot: Slot, at: number): void {
    this.#throttle.answered(slot.start, at);
    this.#keepOthersAway(slot, at);
  }

  /** Records that a request ended without an answer: the service may still receive it. */
  lost(slot: Slot, at: number): void {
    this.#throttle.lost(slot.start);
    this.#keepOthersAway(slot, at);
  }

  /** Reads the ledger's clock. If the clock was set, the ledger follows first (docs/decisions/0003). */
  async ledgerNow(): Promise<number> {
    return (await this.#readClock()).now;
  }

  /** Like {@link ledgerNow}. `asked`: when it asked for the time (monotonic ms), which is no later. */
  async #readClock(): Promise<{ now: number; asked: number }> {
    const { clock, ledger } = this.#options;
    for (;;) {
      const asked = clock.monotonic();
      const time = await clock.ledgerTime();
      if (!this.#mustFollow(time)) return { now: time.now, asked };
      this.#isDoubted = await ledger.followClock(time);
      this.#followed = { ...time, at: clock.monotonic() };
    }
  }

  #mustFollow({ boot }: LedgerTime): boolean {
    const last = this.#followed;
    if (last === null || this.#options.clock.monotonic() - last.at >= FOLLOW_CLOCK_MS) return true;
    return boot !== null && last.boot !== null && wasSet(boot, last.boot);
  }

  /**
   * Compares the clock with the service's in the answer to a request, if the time off is in doubt.
   * @returns null if it was not
   */
  async confirmClock(requestId: number): Promise<Confirmation | null> {
    if (!this.#isDoubted) return null;
    const confirmation = await this.#options.ledger.confirmClock(requestId, await this.ledgerNow());
    this.#isDoubted = confirmation?.confirmedMs === null;
    // Requests may have left the window.
    this.#reservoir.expire();
    return confirmation;
  }

  /** Shortens the gap after a good answer, if 429s have lengthened it. */
  async ease(): Promise<void> {
    if (this.#slowdown > 1) this.#slowdown = await this.#options.ledger.ease(await this.ledgerNow());
  }

  /**
   * Reports a short pause, which the caller waits out. `status`: the answer to the caller's own request.
   * @throws MirrorError `GATE_PAUSED` if the breaker is open, or the pause is longer than `patienceMs`
   */
  async meetPause(now: number, status?: number): Promise<void> {
    const { ledger, patienceMs } = this.#options;
    const state = await ledger.gateState();
    const { until, isLong, cause } = judgePause(state, now, patienceMs);
    if (until === null) return;
    if (isLong) throw gatePaused({ cause, strikes: state.strikes, resumeAt: until, status }, now);
    this.#options.onPaused?.(cause, until);
  }

  /** @throws MirrorError `KEY_REFUSED`, or `GATE_PAUSED` if the pause is longer than `patienceMs` */
  async throwIfShut(): Promise<void> {
    const access = accessId(this.#options.access());
    const { refusedKey } = await this.#options.ledger.gateState();
    if (refusedKey === access) throw await this.#keyRefused(access);
    await this.meetPause(await this.ledgerNow());
  }

  /** Waits until a request may leave and records it in the ledger. Runs for one request at a time. */
  async #waitForSlot(request: SlotRequest): Promise<{ slot: Slot; end: () => void }> {
    const { entry, signal } = request;
    const { ledger, clock, budget } = this.#options;
    for (let late = 0; ;) {
      // Read again before the grant: another mirror of the key can lower the budget while the request waits.
      const readCap = (): number =>
        budget.isUsedUp ? 0 : isScheduled(request) ? scheduledCap(budget) : budget.perDay;
      await this.#waitForBudget(readCap, signal);
      const launch = await this.#throttle.launched(signal);
      const heldMs = this.#lastStart + this.#gapMs * this.#slowdown - clock.monotonic();
      if (this.#slowdown > 1 && heldMs > 0) {
        if (heldMs >= WORTH_WORDS_MS) this.#options.onSlowed?.(clock.now() + heldMs);
        await clock.sleep(Math.min(heldMs, LEDGER_POLL_MS), signal);
        continue;
      }
      const { now, asked: recordedAt } = await this.#readClock();
      const access = accessId(this.#options.access());
      const spaces = { gapMs: this.#gapMs, unansweredMs: unansweredMs(this.#gapMs) };
      const bootAt = this.#followed?.boot?.at ?? null;
      const cap = readCap();
      const limits = { ...spaces, cap, access, ownIds: this.#own.ids(clock.monotonic()), bootAt };
      const grant = await ledger.grant(entry, limits, now);
      if (grant.granted) {
        // The monotonic clock stands still while the machine sleeps; the wall clock does not.
        const ageMs = (): number => Math.max(clock.monotonic() - recordedAt, clock.now() - now);
        const isOld = (): boolean => ageMs() > latestStartMs(this.#gapMs);
        // The caller's record may wait for a lock: the slot can grow old meanwhile.
        if (!isOld()) this.#options.onGranted?.({ id: grant.id, sentAt: now });
        if (isOld()) {
          // Another process may send now. With slots that are kept, a slow database spends the budget unsent.
          this.#reservoir.expire();
          await ledger.withdraw(grant.id);
          late += 1;
          if (late === MOST_LATE) throw grantedTooLate(ageMs());
          continue;
        }
        const { start, end } = this.#throttle.depart(launch);
        this.#lastStart = start;
        this.#slowdown = grant.slowdown;
        this.#own.left(grant.id);
        return { slot: { id: grant.id, isTrial: grant.isTrial, access, start, recordedAt }, end };
      }
      if (grant.because === 'budget') {
        this.#reservoir.expire();
        await this.#reservoir.waitOrThrow(cap, grant.waitMs, now, signal);
        continue;
      }
      if (grant.because === 'clock') {
        this.#followed = null;
        continue;
      }
      if (grant.because === 'key') throw await this.#keyRefused(access);
      if (grant.because === 'pause') await this.meetPause(now);
      await clock.sleep(Math.min(grant.waitMs, LEDGER_POLL_MS), signal);
    }
  }

  /**
   * Waits until the day's budget has a request left, if the patience lasts until then.
   * @throws MirrorError `BUDGET_SPENT`, or the error of a refused key or a long pause
   */
  async #waitForBudget(readCap: () => number, signal?: AbortSignal): Promise<void> {
    const readNow = async (): Promise<number> => {
      // Another process may have followed a clock that was set for a moment.
      this.#followed = null;
      return await this.ledgerNow();
    };
    for (;;) {
      const cap = readCap();
      const waitMs = await this.#reservoir.spentForMs(cap, readNow);
      if (waitMs === null) return;
      await this.throwIfShut();
      await this.#reservoir.waitOrThrow(cap, waitMs, await this.ledgerNow(), signal);
    }
  }

  /** The error for a key that was refused before, perhaps on another host. */
  async #keyRefused(access: string): Promise<MirrorError> {
    const { ledger } = this.#options;
    const { refusedKey, pausedAt, cause } = await ledger.gateState();
    // The cause of a pause is another one.
    const known = refusedKey === access && pausedAt === null ? cause : null;
    return refusedBefore(known, await ledger.lastRefusal(access));
  }

  #keepOthersAway({ id, start }: Slot, at: number): void {
    const gapMs = this.#gapMs * this.#slowdown;
    this.#own.ended(id, Math.max(at + gapMs, start + unansweredMs(gapMs)));
  }
}
