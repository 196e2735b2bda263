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

/** Who goes first: a person's command, then the asking for suspects, then scheduled sweeps. */
const PRIORITY = { manual: 1, resync: 1, probe: 4, schedule: 7 } as const;
const IN_FLIGHT = 4;
const TRIES = 4;
const WALL_JUMP_MS = 1000;

/** Whoever waits long looks up now and then: a person may have opened the gate, or set the clock. */
const LONGEST_NAP_MS = 60_000;

export interface GateOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly requestsPerSecond: number;
  readonly requestsPerDay: number;
  /** Of the day's requests, those that scheduled work must leave alone. */
  readonly requestsReserved: number;
  readonly key: () => string;
  /** Told of everything that makes the gate wait or shut, once each. */
  readonly onEvent?: (event: GateEvent) => void;
  /** Told of every request, for metrics. */
  readonly onEnded?: (ended: Ended) => void;
  /** A pause that lasts longer than this is the caller's to know, not to be waited out. Without it, only an open breaker is. */
  readonly patienceMs?: number;
  /** 0 to 1, for jitter. */
  readonly random?: () => number;
}

export type GateEvent =
  | { readonly kind: 'paused' | 'breaker'; readonly cause: string; readonly until: Date }
  | { readonly kind: 'opened' }
  | { readonly kind: 'retry'; readonly cause: string; readonly waitMs: number; readonly failure: number }
  | { readonly kind: 'key-refused'; readonly cause: string };

/** One request that has come to its end: `status` is null where no answer came, `waitedMs` is how long the gate kept it. */
export interface Ended {
  readonly status: number | null;
  readonly waitedMs: number;
  readonly durationMs: number;
}

/** What one request is for, and the signal that calls it off while it still waits. A request that has left is always read. */
export interface Call {
  readonly entry: RequestEntry;
  /** Scheduled work leaves the reserve alone; so does what it asks for on the way. Told by the reason where left out. */
  readonly scheduled?: boolean;
  /** Requests in all, where failing again is no news: 1 for a check. */
  readonly tries?: number;
  readonly signal?: AbortSignal | undefined;
}

/** An answer that the gate lets through, with the ledger id of its request and how many were sent for it. */
export type Passed<Result> = {
  readonly requestId: number;
  readonly attempts: number;
  readonly answer: Answer;
} & ({ readonly ok: true; readonly result: Result } | { readonly ok: false });

/** The only way out to the service: spacing, day budget, back-off, breaker (DESIGN.md, "The gate"). */
export interface Gate {
  /**
   * Sends when it may, and again where that helps. `read` is called for a 2xx and throws `BrokenBody` for one worth a retry.
   * Other 3xx and 4xx come back with `ok: false`.
   * @throws MirrorError `KEY_REFUSED`, `BUDGET_SPENT`, `GATE_PAUSED`, `SERVICE_DOWN`, `ANSWER_FAILED`, the signal's reason, or what `read` throws
   */
  request<Result>(
    call: Call,
    send: () => Promise<Answer>,
    read: (answer: Answer) => Reading<Result>,
  ): Promise<Passed<Result>>;
}

/** A request that is in the ledger: `start` (monotonic) is when it leaves, `notedAt` when the ledger's instant was read. */
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
  /** Ledger ids of our own requests, with the monotonic time up to which another process would have to keep away from them. */
  const own = new Map<number, number>();
  let lastBoot: number | null = null;
  let lastGoodAt = Number.NEGATIVE_INFINITY;

  /** The wall clock, once the ledger goes by it too. */
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

  /** Waits in line, in order of priority; nobody else takes a slot meanwhile. Whoever is called off while waiting leaves at once. */
  async function pass<Result>(call: Call, work: () => Promise<Result>): Promise<Result> {
    call.signal?.throwIfAborted();
    const mayLeave = new AbortController();
    const turn = turnstile.schedule({ priority: PRIORITY[call.entry.reason] }, () => {
      mayLeave.abort();
      return work();
    });
    return await unlessAborted(turn, call.signal, mayLeave.signal);
  }

  /** Sleeps, but is woken by the next answer: it can bring the next start forward. */
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

  /** Waits until a request may leave and notes it in the ledger. Only inside {@link pass}. */
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

  /** A short pause is waited out; an open breaker, or a service that asks for a long wait, is the caller's to know. */
  async function refuseLongPause(now: number): Promise<void> {
    const { strikes, pausedUntil, cause } = await ledger.state();
    if (pausedUntil === null) return;
    const long = strikes >= BREAKER_STRIKES || pausedUntil.getTime() - now > patienceMs;
    if (long) throw gatePaused(cause ?? '429', strikes, pausedUntil, now);
  }

  /**
   * Sends one request in its slot and notes how it ended. What follows for the gate stands in the ledger before the answer does: from
   * then on others may go, in this process and in others.
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
    const cause = `the service answered 429 Too Many Requests${hint === null ? '' : ` and asked to wait ${duration(hint)}`}`;
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
        // Of 429s too: where others are served, this one must not knock for ever.
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

/** True where the service did its part, whatever came of it here: it is up and lets us in. */
function wasServed({ kind }: Attempt<unknown>): boolean {
  return kind === 'good' || kind === 'refused' || kind === 'wrong';
}
