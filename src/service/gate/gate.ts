import Bottleneck from 'bottleneck';
import { unlessAborted } from '../../core/abortable.ts';
import type { Clock } from '../../core/clock.ts';
import { BREAKER_STRIKES } from '../../core/gate-state.ts';
import { duration } from '../../core/humanize.ts';
import type { Ledger, RequestEntry } from '../../core/ledger.ts';
import { pauseAfter429, pauseAfterFailure, retryAfter } from '../../core/retry-timing.ts';
import { keyFingerprint } from '../../core/secrets.ts';
import { type Answer, NoAnswer } from '../http.ts';
import { type Attempt, attempt, type Reading } from './attempt.ts';
import { budgetSpent, gatePaused, gaveUp, keyRefused } from './errors.ts';
import { spaceByArrival, unansweredMs } from './spacing.ts';

/** The lowest number goes first: a person's command, then checks of suspects, then scheduled sweeps. */
const PRIORITY = { manual: 1, resync: 1, probe: 4, schedule: 7 } as const;
/** At most 4 requests are under way at a time. */
const IN_FLIGHT = 4;
/** At most 4 requests are sent for one call, the retries included. */
const TRIES = 4;
/** The ledger follows the wall clock when the clock is set by more than this many milliseconds. */
const WALL_JUMP_MS = 1000;
/** A waiting call asks the ledger again after at most 60 s: a person may open the gate or set the clock. */
const LONGEST_NAP_MS = 60_000;

export interface GateOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly requestsPerSecond: number;
  readonly requestsPerDay: number;
  /** The part of `requestsPerDay` that scheduled work must not use. */
  readonly requestsReserved: number;
  readonly key: () => string;
  /** Called once for each event that makes the gate wait, close or open. */
  readonly onEvent?: (event: GateEvent) => void;
  /** Called after every request, for metrics. */
  readonly onEnded?: (ended: Ended) => void;
  /**
   * The gate waits out a pause of this length; a longer one throws. Default: only an open breaker throws.
   */
  readonly patienceMs?: number;
  /** Returns a number from 0 to 1, for jitter. */
  readonly random?: () => number;
}

export type GateEvent =
  | { readonly kind: 'paused' | 'breaker'; readonly cause: string; readonly until: Date }
  | { readonly kind: 'opened' }
  | { readonly kind: 'retry'; readonly cause: string; readonly waitMs: number; readonly failure: number }
  | { readonly kind: 'key-refused'; readonly cause: string };

/** A finished request. `status` is null without an answer; `waitedMs` is its time at the gate. */
export interface Ended {
  readonly status: number | null;
  readonly waitedMs: number;
  readonly durationMs: number;
}

/** One request's purpose, and the signal that cancels it while it waits. A sent request is always read. */
export interface Call {
  readonly entry: RequestEntry;
  /**
   * True if scheduled work needs the request: it may not use the reserve. Default: the reason is `schedule`.
   */
  readonly scheduled?: boolean;
  /** At most this many requests for the call, the retries included. A check uses 1. */
  readonly tries?: number;
  readonly signal?: AbortSignal | undefined;
}

/** An answer for the caller, with the ledger id of its request and the number of requests sent for it. */
export type Passed<Result> = {
  readonly requestId: number;
  readonly attempts: number;
  readonly answer: Answer;
} & ({ readonly ok: true; readonly result: Result } | { readonly ok: false });

/** The only way out to the service: spacing, day budget, back-off, breaker (DESIGN.md, "The gate"). */
export interface Gate {
  /**
   * Sends the request as soon as the limits allow, and retries it where a retry can help. For a 2xx it calls
   * `read`, which throws `BrokenBody` if the answer is worth a retry. A 3xx, or a 4xx that the gate does not
   * handle, returns `ok: false`.
   * @throws MirrorError `KEY_REFUSED`, `BUDGET_SPENT`, `GATE_PAUSED`, `SERVICE_DOWN` or `ANSWER_FAILED`
   * @throws the signal's reason, or any other error of `read`
   */
  request<Result>(
    call: Call,
    send: () => Promise<Answer>,
    read: (answer: Answer) => Reading<Result>,
  ): Promise<Passed<Result>>;
}

/**
 * A request in the ledger. `start` is when it leaves, `notedAt` the ledger's instant; both are monotonic.
 */
interface Slot {
  readonly id: number;
  readonly probe: boolean;
  readonly key: string;
  readonly start: number;
  readonly notedAt: number;
}

export function createGate(options: GateOptions): Gate {
  const {
    ledger,
    clock,
    onEvent = () => undefined,
    patienceMs = Number.POSITIVE_INFINITY,
    random = Math.random,
  } = options;
  const gapMs = 1000 / options.requestsPerSecond;
  const spacing = spaceByArrival(gapMs);
  const turnstile = new Bottleneck({ maxConcurrent: 1 });
  const inFlight = new Set<Promise<unknown>>();
  /**
   * This process's ledger ids, each with the monotonic time until which other processes keep away from it.
   */
  const own = new Map<number, number>();
  let lastBoot: number | null = null;
  let lastGoodAt = Number.NEGATIVE_INFINITY;

  /** Reads the wall clock, after the ledger has followed any setting of it. */
  async function wallClock(): Promise<number> {
    for (;;) {
      const boot = clock.boot();
      const now = clock.now();
      if (lastBoot !== null && Math.abs(boot.at - lastBoot) <= WALL_JUMP_MS) return now;
      await ledger.followClock(boot, now);
      lastBoot = boot.at;
    }
  }

  function ownIds(): number[] {
    const now = clock.monotonic();
    for (const [id, until] of own) if (until < now) own.delete(id);
    return [...own.keys()];
  }

  /** Queues the calls by priority and runs one `work` at a time. A cancelled call stops waiting at once. */
  async function pass<Result>(call: Call, work: () => Promise<Result>): Promise<Result> {
    call.signal?.throwIfAborted();
    const mayLeave = new AbortController();
    const turn = turnstile.schedule({ priority: PRIORITY[call.entry.reason] }, () => {
      mayLeave.abort();
      return work();
    });
    return await unlessAborted(turn, call.signal, mayLeave.signal);
  }

  /** Sleeps for `ms`, or until the next answer if that is earlier: it can bring the next start forward. */
  async function nap(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (inFlight.size === 0) {
      await clock.sleep(ms, signal);
      return;
    }
    const woken = new AbortController();
    const either = signal === undefined ? woken.signal : AbortSignal.any([signal, woken.signal]);
    const asleep = clock.sleep(ms, either).catch(() => signal?.throwIfAborted());
    await Promise.race([asleep, ...inFlight]);
    woken.abort();
    await asleep;
  }

  /** Waits until a request may leave and records it in the ledger. Call it only inside {@link pass}. */
  async function takeSlot({ entry, scheduled = entry.reason === 'schedule', signal }: Call): Promise<Slot> {
    const cap = options.requestsPerDay - (scheduled ? options.requestsReserved : 0);
    for (;;) {
      signal?.throwIfAborted();
      if (inFlight.size >= IN_FLIGHT || spacing.earliest() === Number.POSITIVE_INFINITY) {
        await unlessAborted(Promise.race(inFlight), signal);
        continue;
      }
      const early = spacing.earliest() - clock.monotonic();
      if (early > 0) {
        await nap(early, signal);
        continue;
      }
      const now = await wallClock();
      const notedAt = clock.monotonic();
      const key = keyFingerprint(options.key());
      const grant = await ledger.grant(
        entry,
        { gapMs, unansweredMs: unansweredMs(gapMs), cap, key, own: ownIds() },
        now,
      );
      if (grant.granted) {
        const start = clock.monotonic();
        spacing.started(start);
        own.set(grant.id, Number.POSITIVE_INFINITY);
        return { id: grant.id, probe: grant.probe, key, start, notedAt };
      }
      if (grant.because === 'budget') throw budgetSpent(cap, options, new Date(now + grant.waitMs), now);
      if (grant.because === 'key')
        throw keyRefused((await ledger.state()).cause ?? 'the service refused the key');
      if (grant.because === 'pause') await refuseLongPause(now);
      await clock.sleep(Math.min(grant.waitMs, LONGEST_NAP_MS), signal);
    }
  }

  /** @throws MirrorError `GATE_PAUSED` if the breaker is open, or the pause is longer than `patienceMs` */
  async function refuseLongPause(now: number): Promise<void> {
    const { strikes, pausedUntil, cause } = await ledger.state();
    if (pausedUntil === null) return;
    const long = strikes >= BREAKER_STRIKES || pausedUntil.getTime() - now > patienceMs;
    if (long) throw gatePaused(cause ?? '429', strikes, pausedUntil, now);
  }

  /**
   * Sends one request in its slot and records its end. A pause or a refused key enters the ledger before the
   * request's end does, because the end lets further requests leave, in this process and in others.
   */
  async function sendIn<Result>(
    slot: Slot,
    waitedMs: number,
    send: () => Promise<Answer>,
    read: (answer: Answer) => Reading<Result>,
  ): Promise<Attempt<Result>> {
    const ended = await attempt(send, read);
    const at = clock.monotonic();
    if (ended.kind === 'lost') spacing.lost(slot.start);
    else spacing.answered(slot.start, at);
    own.set(slot.id, Math.max(at + gapMs, slot.start + unansweredMs(gapMs)) + 50);

    if (ended.kind === 'throttled') await strike(slot.id, ended.answer);
    if (ended.kind === 'unauthorised') {
      await ledger.refuseKey(slot.key, ended.cause, await wallClock());
      onEvent({ kind: 'key-refused', cause: ended.cause });
    }
    const status = ended.kind === 'lost' ? null : ended.answer.status;
    await ledger.settle(slot.id, {
      status,
      durationMs: at - slot.notedAt,
      items: ended.kind === 'good' ? ended.reading.items : null,
      error: ended.kind === 'good' ? null : ended.cause,
    });
    options.onEnded?.({ status, waitedMs, durationMs: at - slot.start });
    if (wasServed(ended)) {
      lastGoodAt = at;
      if (slot.probe && (await ledger.endPause(slot.id))) onEvent({ kind: 'opened' });
    }
    return ended;
  }

  async function strike(requestId: number, answer: Answer): Promise<void> {
    const now = await wallClock();
    const hint = retryAfter(answer.retryAfter, now);
    const asked = hint === null ? '' : ` and asked to wait ${duration(hint)}`;
    const cause = `the service answered 429 Too Many Requests${asked}`;
    const until = (strikes: number): number => now + pauseAfter429(strikes, hint, random());
    const paused = await ledger.pause(requestId, until, cause, now);
    if (paused === null || paused.pausedUntil === null) return;
    onEvent({
      kind: paused.strikes >= BREAKER_STRIKES ? 'breaker' : 'paused',
      cause,
      until: paused.pausedUntil,
    });
  }

  return {
    async request(call, send, read) {
      const tries = call.tries ?? TRIES;
      let failedSince = Number.POSITIVE_INFINITY;
      for (let attempts = 1; ; attempts += 1) {
        const came = clock.monotonic();
        const slot = await pass(call, async () => {
          const taken = await takeSlot(call);
          const ending = sendIn(taken, taken.start - came, send, read);
          const place: Promise<unknown> = ending.then(ignore, ignore).then(() => inFlight.delete(place));
          inFlight.add(place);
          return { ...taken, ending };
        });
        const ended = await slot.ending;

        const passed = { requestId: slot.id, attempts };
        if (ended.kind === 'good')
          return { ...passed, answer: ended.answer, ok: true, result: ended.reading.result };
        if (ended.kind === 'refused') return { ...passed, answer: ended.answer, ok: false };
        if (ended.kind === 'wrong') throw ended.error;
        if (ended.kind === 'unauthorised') throw keyRefused(ended.cause, ended.answer.status);
        if (ended.kind === 'lost' && !(ended.error instanceof NoAnswer)) throw ended.error;
        if (ended.kind === 'throttled') await refuseLongPause(clock.now());

        failedSince = Math.min(failedSince, clock.monotonic());
        // 429s count as tries: a request must not be repeated for ever while others are answered.
        if (attempts >= tries) throw gaveUp(call.entry, attempts, ended.cause, failedSince > lastGoodAt);
        if (ended.kind === 'throttled') continue;
        const waitMs = pauseAfterFailure(attempts, random());
        onEvent({ kind: 'retry', cause: ended.cause, waitMs, failure: attempts });
        await clock.sleep(waitMs, call.signal);
      }
    },
  };
}

function ignore(): void {}

/** True if the service is up and accepts the key, even if its answer cannot be used. */
function wasServed({ kind }: Attempt<unknown>): boolean {
  return kind === 'good' || kind === 'refused' || kind === 'wrong';
}
