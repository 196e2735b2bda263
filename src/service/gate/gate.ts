import { isMirrorError, type MirrorError } from '../../core/errors.ts';
import { judgePause, PATIENCE_MS } from '../../core/gate-state.ts';
import { duration } from '../../core/humanize.ts';
import {
  limitOf,
  LONGEST_HINT_MS,
  pauseAfterFailure,
  pauseAfterStrike,
  retryAfter,
} from '../../core/retry-timing.ts';
import { readErrorMessage } from '../envelope.ts';
import { type Answer, serviceTime } from '../http.ts';
import { type Attempt, attempt, throwIfHopeless, wasServed } from './attempt.ts';
import type { Call, CallOutcome, Exchange, FailedCall, LastFailure } from './calls.ts';
import { clockDoubt, foreignCause, gaveUp } from './errors.ts';
import type { GateEvent, RequestEnd } from './events.ts';
import { Signs } from './signs.ts';
import { isScheduled, type Slot, Turnstile, type TurnstileOptions } from './turnstile.ts';

/** At most this many requests are sent for one call, the retries included. */
const TRIES = 4;

/** A request elsewhere was not answered either, or wrongly, which shows that the service is up. */
const OF_ELSEWHERE = ['SERVICE_DOWN', 'ANSWER_FAILED', 'BAD_ANSWER'] as const;

export interface GateOptions extends TurnstileOptions {
  /** Called for each {@link GateEvent}: once for a pause, however many requests wait for its end. */
  readonly onEvent?: (event: GateEvent) => void;
  /** Called after every request, for metrics. */
  readonly onEnded?: (ended: RequestEnd) => void;
  /** Returns a number from 0 to 1, for jitter. Default: `Math.random`. */
  readonly random?: () => number;
}

/** The only way out to the service: spacing, day budget, back-off, breaker (docs/decisions/0011). */
export class Gate {
  readonly #options: GateOptions;
  readonly #turnstile: Turnstile;
  readonly #random: () => number;
  readonly #signs = new Signs();
  #hasDoubtedClock = false;
  /** The end of the pause that was reported last, epoch ms. */
  #reportedPause = 0;

  constructor(options: GateOptions) {
    this.#options = options;
    const { onEvent } = options;
    this.#turnstile = new Turnstile({
      ...options,
      onPaused: (cause, until) => this.#reportPause({ kind: 'paused', cause, until }),
      onSlowed: (until) => onEvent?.({ kind: 'slowed', until: new Date(until) }),
      onSpent: (until) => onEvent?.({ kind: 'spent', until: new Date(until) }),
    });
    this.#random = options.random ?? Math.random;
  }

  /** @throws MirrorError `KEY_REFUSED`, or `GATE_PAUSED` if the gate would not wait out its pause */
  async throwIfShut(): Promise<void> {
    await this.#turnstile.throwIfShut();
  }

  /**
   * Sends the request as soon as the limits allow, and retries it where a retry can help. A 3xx, or a 4xx
   * that the gate does not handle, returns `ok: false`.
   * @throws MirrorError `KEY_REFUSED`, `BUDGET_SPENT`, `GATE_PAUSED`, `SERVICE_DOWN` or `ANSWER_FAILED`
   * @throws the signal's reason, or any other error of `exchange.read`
   */
  async request<Result>(call: Call, exchange: Exchange<Result>): Promise<CallOutcome<Result>> {
    const { clock } = this.#options;
    let failed: FailedCall | null = null;
    for (let requests = 1; ; requests += 1) {
      const queuedAt = clock.monotonic();
      const entered = this.#turnstile.enter(call, (granted) =>
        this.#sendIn(granted, granted.start - queuedAt, exchange),
      );
      const { slot, sent } = await entered.catch((error: unknown) => {
        throw this.#unsent(call, failed, error);
      });
      const last = await sent;
      const request = { requestId: slot.id, requests };
      if (last.kind === 'good')
        return { ...request, answer: last.answer, ok: true, result: last.parsed.result };
      if (last.kind === 'refused') return { ...request, answer: last.answer, ok: false };
      throwIfHopeless(last);
      const failedSince: number = failed?.failedSince ?? clock.monotonic();
      failed = { ...request, last, failedSince, elsewhere: exchange.elsewhere };
      await this.#waitForRetry(call, failed);
    }
  }

  /**
   * Waits before the retry of a failed request. After a 429 it does not wait: the turnstile waits out the
   * pause, for this request as for every other.
   * @throws MirrorError if the call may not be retried
   */
  async #waitForRetry(call: Call, failed: FailedCall): Promise<void> {
    const { entry, signal, tries = TRIES } = call;
    const { clock, onEvent, patienceMs = PATIENCE_MS } = this.#options;
    const { requests, last } = failed;
    const { kind, cause } = last;
    const is429 = kind === 'throttled';
    const isPathAlone = is429 && last.isPathAlone === true;
    if (is429 && !isPathAlone) await this.#turnstile.meetPause(clock.now(), last.answer.status);
    // 429s count as tries: a request must not be repeated for ever while others are answered.
    const now = clock.now();
    const hint = kind === 'failed' || isPathAlone ? retryAfter(last.answer, now) : null;
    const askedMs = hint === null ? 0 : Math.min(hint, LONGEST_HINT_MS);
    const most = this.#signs.isDown && !is429 ? 1 : tries;
    if (requests >= most || askedMs > patienceMs || isPathAlone)
      throw await this.#giveUp(call, failed, { cause, is429, isPathAlone, askedMs, now });
    if (is429) return;
    const waitMs = Math.max(askedMs, pauseAfterFailure(requests, this.#random()));
    const { list, inboxId } = entry;
    const key = list === null ? null : { list, inboxId };
    onEvent?.({ kind: 'retry', key, cause, waitMs, failure: requests });
    await clock.sleep(waitMs, signal);
  }

  /** If the budget ended before a retry, the call has failed: else its caller would repeat it for ever. */
  #unsent({ entry }: Call, failed: FailedCall | null, error: unknown): unknown {
    if (failed === null || failed.last.kind === 'throttled') return error;
    if (!isMirrorError(error, 'BUDGET_SPENT')) return error;
    const { last, requests, failedSince } = failed;
    const { clock } = this.#options;
    const isOutage = this.#signs.judgeUndecided(failedSince, clock.monotonic());
    const failure = { requests, cause: last.cause, is429: false, isOutage };
    return gaveUp(entry, { ...failure, resumeAt: undefined, now: clock.now() });
  }

  /**
   * Decides whether a call that is not retried has failed alone or in an outage, and shuts the gate if it is
   * an outage that asks to wait.
   * @returns the error for the caller
   */
  async #giveUp(
    call: Call,
    { requestId, requests, failedSince, elsewhere }: FailedCall,
    { cause, is429, isPathAlone, askedMs, now }: LastFailure,
  ): Promise<MirrorError> {
    const { clock, patienceMs = PATIENCE_MS } = this.#options;
    const { entry, tries = TRIES, isServiceTest = false } = call;
    // A call with fewer tries is a check, whose caller knows what its failure means. Scheduled work reads
    // another list next, unless the failure would shut the gate.
    const shuts = askedMs > patienceMs && tries === TRIES;
    const asksElsewhere = !is429 && (shuts || (requests === TRIES && !isScheduled(call)));
    const failure = { requests, cause, is429, now };
    let elsewhereMs: number | null = null;
    try {
      if (asksElsewhere) elsewhereMs = await this.#askElsewhere(failedSince, elsewhere);
    } catch (error) {
      const isSpent = isMirrorError(error, 'BUDGET_SPENT');
      const isUnsent = isSpent || isMirrorError(error, 'GATE_PAUSED') || call.signal?.aborted === true;
      if (!isUnsent || (askedMs === 0 && !isSpent)) throw error;
      // The wait for which this list asks is stored with it: the next reader keeps to it.
      const resumeAt = askedMs > 0 ? new Date(now + askedMs) : undefined;
      const isOutage = isSpent ? this.#signs.judgeUndecided(failedSince, clock.monotonic()) : null;
      return gaveUp(entry, { ...failure, isOutage, resumeAt });
    }
    const longest = Math.max(askedMs, elsewhereMs ?? 0);
    // Where other answers contradict an outage, `#pauseForFailure` leaves the gate open.
    const proof = elsewhereMs === null ? requestId : null;
    const isOutage =
      !isPathAlone &&
      this.#signs.isSilentSince(failedSince) &&
      (longest === 0 || isServiceTest || (await this.#pauseForFailure(proof, cause, longest)));
    const waitMs = isOutage ? longest : askedMs;
    const resumeAt = waitMs > 0 ? new Date(now + waitMs) : undefined;
    if (isOutage && !is429) this.#signs.noteOutage();
    return gaveUp(entry, { ...failure, isOutage, resumeAt });
  }

  /**
   * Lets an answer to another request show that the service is up. Sends nothing if an outage is known, or if
   * another answer has shown it already.
   * @param failedSince monotonic ms
   * @returns for how long a failed answer to the other request asks to wait (ms); null: it has not failed
   * @throws MirrorError `KEY_REFUSED`, the signal's reason, or why the other request could not be sent
   */
  async #askElsewhere(failedSince: number, elsewhere: FailedCall['elsewhere']): Promise<number | null> {
    const isKnown = this.#signs.isDown || !this.#signs.isSilentSince(failedSince);
    if (elsewhere === undefined || isKnown) return null;
    try {
      await this.#signs.whileAsking(elsewhere);
      return null;
    } catch (error) {
      if (!isMirrorError(error, ...OF_ELSEWHERE)) throw error;
      return Math.max(0, (error.resumeAt?.getTime() ?? 0) - this.#options.clock.now());
    }
  }

  /**
   * Sends one request in its slot and records its end. A pause or a refused key enters the ledger before the
   * request's end does, because the end lets further requests leave, in this process and in others.
   */
  async #sendIn<Result>(
    slot: Slot,
    waitedMs: number,
    { send, read, forbids }: Exchange<Result>,
  ): Promise<Attempt<Result>> {
    const { ledger, clock, onEvent, onEnded } = this.#options;
    let ended = await attempt(send, read, forbids);
    const at = clock.monotonic();
    if (ended.kind === 'lost') this.#turnstile.lost(slot, at);
    else this.#turnstile.answered(slot, at);
    // The clock may have been set meanwhile: stored instants must move before the answer is written.
    if (clock.boot() !== null) await this.#turnstile.ledgerNow();

    if (ended.kind === 'throttled')
      ended = { ...ended, isPathAlone: await this.#strike(slot.id, ended.answer) };
    if (ended.kind === 'unauthorised') {
      await ledger.refuseKey(slot.access, ended.cause, await this.#turnstile.ledgerNow());
      onEvent?.({ kind: 'key-refused', cause: ended.cause });
    }
    const status = ended.kind === 'lost' ? null : ended.answer.status;
    await ledger.settle(slot.id, {
      status,
      durationMs: at - slot.recordedAt,
      items: ended.kind === 'good' ? ended.parsed.items : null,
      error: ended.kind === 'good' ? null : ended.cause,
      serviceAt: ended.kind === 'lost' ? null : serviceTime(ended.answer),
    });
    if (ended.kind !== 'lost') await this.#confirmClock(slot.id);
    onEnded?.({ status, waitedMs, durationMs: at - slot.start });
    if (wasServed(ended)) {
      this.#signs.noteAnswer(at);
      if (slot.isTrial && (await ledger.endPause(slot.id))) onEvent?.({ kind: 'opened' });
      await this.#turnstile.ease();
    }
    return ended;
  }

  /** Lets the service confirm how long the machine was off, and reports once if it does not. */
  async #confirmClock(requestId: number): Promise<void> {
    const confirmation = await this.#turnstile.confirmClock(requestId);
    if (confirmation === null || this.#hasDoubtedClock) return;
    const cause = clockDoubt(confirmation);
    if (cause === null) return;
    this.#hasDoubtedClock = true;
    this.#options.onEvent?.({ kind: 'clock', cause });
  }

  /** Pauses the gate after a 429. @returns whether this path alone draws 429s */
  async #strike(requestId: number, answer: Answer): Promise<boolean> {
    const { ledger, onEvent, budget } = this.#options;
    const now = await this.#turnstile.ledgerNow();
    const hint = retryAfter(answer, now);
    const asked = hint === null ? '' : ` and asked to wait ${duration(hint)}`;
    const words = readErrorMessage(answer.body);
    const own = words?.replace(/^too many requests(?:: |$)/i, '') ?? '';
    const inWords = own === '' ? '' : `: "${own}"`;
    const limit = limitOf(words, hint);
    const { left } = await ledger.budgetLeft(budget.perDay, now);
    const dayLimit = limit === 'day' && left > 0 ? budget.perDay - left : null;
    const foreign = dayLimit === null && limit !== 'rate' ? '' : `; ${foreignCause(dayLimit, budget)}`;
    const cause = `the service answered 429 (too many requests)${asked}${inWords}${foreign}`;
    // A path that alone draws 429s waits by itself: its `Retry-After` does not pause the others.
    const until = (strikes: number, alone: boolean): number =>
      now + pauseAfterStrike(strikes, alone ? null : hint, this.#random());
    const state = await ledger.pauseGate(requestId, until, cause, now, dayLimit);
    if (state === null) return false;
    const { word, until: pausedUntil } = judgePause(state, now);
    if (word !== 'open' && pausedUntil !== null) this.#reportPause({ kind: word, cause, until: pausedUntil });
    if (dayLimit !== null && !state.alone) onEvent?.({ kind: 'day-full', cause, sent: dayLimit });
    return state.alone;
  }

  /**
   * Pauses the gate for every process, for as long as a failed answer has asked (ms).
   * @param requestId the failed request; null if a request elsewhere has failed too
   * @returns false if only this path fails; then the gate stays open
   */
  async #pauseForFailure(requestId: number | null, failure: string, askedMs: number): Promise<boolean> {
    const now = await this.#turnstile.ledgerNow();
    const until = now + askedMs;
    const cause = `the service failed (${failure}) and asked to wait ${duration(askedMs)}`;
    if (!(await this.#options.ledger.pauseForFailure(requestId, until, cause, now))) return false;
    this.#reportPause({ kind: 'paused', cause, until: new Date(until) });
    return true;
  }

  /** Reports each pause once, even if many requests wait for its end. */
  #reportPause(event: Extract<GateEvent, { cause: string; until: Date }>): void {
    if (event.until.getTime() === this.#reportedPause) return;
    this.#reportedPause = event.until.getTime();
    this.#options.onEvent?.(event);
  }
}
