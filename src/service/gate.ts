import Bottleneck from 'bottleneck';
import { pauseAfter429, pauseAfterFailure } from '../core/backoff.ts';
import type { Clock } from '../core/clock.ts';
import { MirrorError } from '../core/errors.ts';
import { BREAKER_STRIKES, type Ledger, type RequestEntry } from '../core/ledger.ts';
import { retryAfter } from '../core/retry-after.ts';
import { keyFingerprint } from '../core/secrets.ts';
import { duration } from '../core/words.ts';
import { BrokenBody } from './envelope.ts';
import { type Answer, NoAnswer } from './http.ts';
import { spaceByArrival, unansweredMs } from './spacing.ts';

/** Who goes first: a person's command, then the asking for suspects, then scheduled sweeps. */
const PRIORITY = { manual: 1, resync: 1, probe: 4, schedule: 7 } as const;
const IN_FLIGHT = 4;
const TRIES = 4;
const WALL_JUMP_MS = 1000;

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
  /** 0 to 1, for jitter. */
  readonly random?: () => number;
}

export type GateEvent =
  | { readonly kind: 'paused' | 'breaker'; readonly cause: string; readonly until: Date }
  | { readonly kind: 'opened' }
  | { readonly kind: 'retry'; readonly cause: string; readonly waitMs: number; readonly failure: number }
  | { readonly kind: 'key-refused'; readonly cause: string };

/** What one request is for, and the signal that calls it off while it still waits. A request that has left is always read. */
export interface Call {
  readonly entry: RequestEntry;
  readonly signal?: AbortSignal | undefined;
}

/** An answer read by the caller: `items` goes into the ledger. */
export interface Reading<Result> {
  readonly result: Result;
  readonly items: number | null;
}

/** An answer that the gate lets through, with the ledger id of its request and how many were sent for it. */
export type Passed<Result> = { readonly requestId: number; readonly attempts: number; readonly answer: Answer } & (
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false }
);

/** The only way out to the service: spacing, day budget, back-off, breaker (DESIGN.md, "The gate"). */
export interface Gate {
  /**
   * Sends when it may, and again where that helps. `read` is called for a 2xx and throws `BrokenBody` for one worth a retry.
   * Other 3xx and 4xx come back with `ok: false`.
   * @throws MirrorError `KEY_REFUSED`, `BUDGET_SPENT`, `GATE_PAUSED`, `SERVICE_DOWN`, `STOPPED`, or what `read` throws
   */
  request<Result>(call: Call, send: () => Promise<Answer>, read: (answer: Answer) => Reading<Result>): Promise<Passed<Result>>;
}

export function createGate(options: GateOptions): Gate {
  const { ledger, clock, onEvent = () => undefined, random = Math.random } = options;
  const gapMs = 1000 / options.requestsPerSecond;
  const spacing = spaceByArrival(gapMs);
  const turnstile = new Bottleneck({ maxConcurrent: 1 });
  const inFlight = new Set<Promise<unknown>>();
  /** Ledger ids of our own requests, with the monotonic time up to which another process would have to keep away from them. */
  const own = new Map<number, number>();
  let lastBoot: number | null = null;
  let lastGoodAt = Number.NEGATIVE_INFINITY;
  /** Spares a look at the durable state after every answer. */
  let mayBePaused = true;

  async function followClock(): Promise<void> {
    const boot = clock.boot();
    if (lastBoot !== null && Math.abs(boot.at - lastBoot) <= WALL_JUMP_MS) return;
    await ledger.followClock(boot, clock.now());
    lastBoot = boot.at;
  }

  function ownIds(): number[] {
    const now = clock.monotonic();
    for (const [id, until] of own) if (until < now) own.delete(id);
    return [...own.keys()];
  }

  /** Waits until a request may leave and notes it in the ledger. One at a time, in order of priority. */
  async function takeSlot({ entry, signal }: Call): Promise<{ id: number; start: number }> {
    const cap = options.requestsPerDay - (entry.reason === 'schedule' ? options.requestsReserved : 0);
    const key = keyFingerprint(options.key());
    for (;;) {
      signal?.throwIfAborted();
      if (inFlight.size >= IN_FLIGHT || spacing.earliest() === Number.POSITIVE_INFINITY) {
        await Promise.race(inFlight);
        continue;
      }
      const early = spacing.earliest() - clock.monotonic();
      if (early > 0) {
        await clock.sleep(early, signal);
        continue;
      }
      await followClock();
      const now = clock.now();
      const limits = { gapMs, unansweredMs: unansweredMs(gapMs), cap, key, own: ownIds() };
      const grant = await ledger.grant(entry, limits, now);
      if (grant.granted) {
        const start = clock.monotonic();
        spacing.started(start);
        own.set(grant.id, Number.POSITIVE_INFINITY);
        return { id: grant.id, start };
      }
      if (grant.because === 'budget') throw budgetSpent(cap, options, new Date(now + grant.waitMs), now);
      if (grant.because === 'key') throw keyRefused((await ledger.state()).cause ?? 'the service refused the key');
      if (grant.because === 'pause' || grant.because === 'probe') mayBePaused = true;
      if (grant.because === 'pause') await refuseOpenBreaker(now);
      await clock.sleep(grant.waitMs, signal);
    }
  }

  async function refuseOpenBreaker(now: number): Promise<void> {
    const { strikes, pausedUntil, cause } = await ledger.state();
    if (strikes >= BREAKER_STRIKES && pausedUntil !== null) throw gatePaused(cause ?? '429', pausedUntil, now);
  }

  /** Sends one request in its slot and notes how it ended. */
  async function attempt<Result>(
    slot: { id: number; start: number },
    send: () => Promise<Answer>,
    read: (answer: Answer) => Reading<Result>,
  ): Promise<Attempt<Result>> {
    const ended = await settleOn(send, read);
    const at = clock.monotonic();
    if (ended.kind === 'lost') spacing.lost(slot.start);
    else spacing.answered(slot.start, at);
    own.set(slot.id, Math.max(at + gapMs, slot.start + unansweredMs(gapMs)) + 50);
    const status = ended.kind === 'lost' ? null : ended.answer.status;
    const items = ended.kind === 'good' ? ended.reading.items : null;
    await ledger.settle(slot.id, {
      status,
      durationMs: at - slot.start,
      items,
      error: ended.kind === 'good' ? null : ended.cause,
    });
    return ended;
  }

  async function strike(slotId: number, answer: Answer): Promise<void> {
    const now = clock.now();
    const hint = retryAfter(answer.retryAfter, now);
    const before = (await ledger.state()).strikes;
    const cause = `the service answered 429 Too Many Requests${hint === null ? '' : ` and asked to wait ${duration(hint)}`}`;
    const { strikes, pausedUntil } = await ledger.pause(
      slotId,
      (count) => now + pauseAfter429(count, hint, random()),
      cause,
      now,
    );
    if (strikes === before || pausedUntil === null) return;
    onEvent({ kind: strikes >= BREAKER_STRIKES ? 'breaker' : 'paused', cause, until: pausedUntil });
  }

  /** A good answer to a request that was sent after the pause ends it; one that was already under way does not. */
  async function endPause(slotStart: number): Promise<void> {
    const { strikes, pausedUntil } = await ledger.state();
    if (strikes === 0 || pausedUntil === null) return;
    const sentAt = clock.now() - (clock.monotonic() - slotStart);
    if (sentAt < pausedUntil.getTime() - 1) return;
    await ledger.open();
    onEvent({ kind: 'opened' });
  }

  return {
    async request(call, send, read) {
      const firstTry = clock.monotonic();
      let attempts = 0;
      for (let failures = 0; ;) {
        const slot = await turnstile.schedule({ priority: PRIORITY[call.entry.reason] }, async () => {
          const taken = await takeSlot(call);
          const ending = attempt(taken, send, read);
          const place: Promise<unknown> = ending.then(ignore, ignore).then(() => inFlight.delete(place));
          inFlight.add(place);
          return { ...taken, ending };
        });
        const ended = await slot.ending;
        attempts += 1;

        if (ended.kind === 'good' || ended.kind === 'refused') {
          lastGoodAt = clock.monotonic();
          if (mayBePaused) {
            await endPause(slot.start);
            mayBePaused = (await ledger.state()).strikes > 0;
          }
          const passed = { requestId: slot.id, attempts, answer: ended.answer };
          return ended.kind === 'good' ? { ...passed, ok: true, result: ended.reading.result } : { ...passed, ok: false };
        }
        if (ended.kind === 'wrong') throw ended.error;
        if (ended.kind === 'throttled') {
          mayBePaused = true;
          await strike(slot.id, ended.answer);
          await refuseOpenBreaker(clock.now());
          continue;
        }
        if (ended.kind === 'unauthorised') {
          await ledger.refuseKey(keyFingerprint(options.key()), ended.cause, clock.now());
          onEvent({ kind: 'key-refused', cause: ended.cause });
          throw keyRefused(ended.cause, ended.answer.status);
        }
        failures += 1;
        if (failures === TRIES) throw serviceDown(call.entry, ended.cause, firstTry > lastGoodAt);
        const waitMs = pauseAfterFailure(failures, random());
        onEvent({ kind: 'retry', cause: ended.cause, waitMs, failure: failures });
        await clock.sleep(waitMs, call.signal);
      }
    },
  };
}

function ignore(): void {}

type Attempt<Result> =
  | { readonly kind: 'good'; readonly answer: Answer; readonly reading: Reading<Result> }
  | { readonly kind: 'refused' | 'throttled' | 'unauthorised' | 'failed'; readonly answer: Answer; readonly cause: string }
  | { readonly kind: 'wrong'; readonly answer: Answer; readonly cause: string; readonly error: unknown }
  | { readonly kind: 'lost'; readonly cause: string };

async function settleOn<Result>(
  send: () => Promise<Answer>,
  read: (answer: Answer) => Reading<Result>,
): Promise<Attempt<Result>> {
  let answer: Answer;
  try {
    answer = await send();
  } catch (error) {
    if (error instanceof NoAnswer) return { kind: 'lost', cause: error.message };
    throw error;
  }
  const cause = `HTTP ${answer.status}`;
  if (answer.status === 429) return { kind: 'throttled', answer, cause };
  if (answer.status === 401 || answer.status === 403) return { kind: 'unauthorised', answer, cause };
  if (answer.status >= 500 || answer.status === 408) return { kind: 'failed', answer, cause };
  if (answer.status < 200 || answer.status >= 300) return { kind: 'refused', answer, cause };
  try {
    return { kind: 'good', answer, reading: read(answer) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return error instanceof BrokenBody
      ? { kind: 'failed', answer, cause: message }
      : { kind: 'wrong', answer, cause: message, error };
  }
}

function budgetSpent(cap: number, { requestsPerDay, requestsReserved }: GateOptions, resumeAt: Date, now: number): MirrorError {
  const kept = cap < requestsPerDay ? ` (${requestsReserved} of ${requestsPerDay} are kept for manual commands)` : '';
  return new MirrorError(
    'BUDGET_SPENT',
    `The day's budget is spent: ${cap} requests in the last 24 hours${kept}. The next one can leave at ${resumeAt.toISOString()}, in ${duration(resumeAt.getTime() - now)}.`,
    { resumeAt },
  );
}

function gatePaused(cause: string, resumeAt: Date, now: number): MirrorError {
  return new MirrorError(
    'GATE_PAUSED',
    `The gate is paused until ${resumeAt.toISOString()} (for ${duration(resumeAt.getTime() - now)}): ${cause}, several times in a row. ` +
      'Asking again sooner may get the key blocked; `inbox-mirror doctor --reset-gate` ends the pause by hand.',
    { resumeAt },
  );
}

function keyRefused(cause: string, status?: number): MirrorError {
  return new MirrorError(
    'KEY_REFUSED',
    `The service refused the API key (${cause}). It is wrong, deleted, or lacks rights; no request is sent with it again unless you run a command. Check INBOX_API_KEY.`,
    { status },
  );
}

function serviceDown(entry: RequestEntry, cause: string, everything: boolean): MirrorError {
  return new MirrorError(
    everything ? 'SERVICE_DOWN' : 'ANSWER_FAILED',
    `${entry.method} ${entry.path} failed ${TRIES} times, the last time with: ${cause}. ` +
      (everything
        ? 'The service seems to be down or out of reach; nothing is lost, run the command again later.'
        : 'Other requests were answered meanwhile.'),
  );
}
