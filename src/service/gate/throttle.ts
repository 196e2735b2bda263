import type Bottleneck from 'bottleneck';
import { unlessAborted } from '../../core/abortable.ts';
import type { Clock } from '../../core/clock.ts';
import { type Launch, type Spacing, spaceByArrival } from './spacing.ts';

/** A change of the expected hold by up to this many ms does not change the setting of the limiter. */
const HOLD_NOISE_MS = 1;

interface ThrottleOptions {
  readonly clock: Clock;
  /** Bottleneck on that clock. */
  readonly Limiter: typeof Bottleneck;
  /** Least ms between two arrivals at the service. */
  readonly gapMs: number;
  /** At most this many requests are under way at a time. */
  readonly inFlight: number;
}

/** A launch that no request has used yet. `free` frees its place in flight. */
interface OpenLaunch extends Launch {
  readonly free: () => void;
}

/** A request that has left. */
export interface Departure {
  /** Monotonic ms. */
  readonly start: number;
  /** Frees the request's place in flight. */
  readonly end: () => void;
}

/**
 * The pace of this process: bottleneck launches requests, a few in flight (`maxConcurrent`), at least a gap
 * after the departure before (`minTime`), and none once the day's budget is spent (`reservoir`). A launched
 * request is held for as long as the network needs more distance (`spacing.ts`).
 *
 * A launch stays open until a request leaves in it: a request that is cancelled or refused costs no gap.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #gapMs: number;
  readonly #limiter: Bottleneck;
  readonly #spacing: Spacing;
  #open: Promise<OpenLaunch> | null = null;
  #holdMs = 0;
  /** Resolves at the end of the next request: its answer can bring the next departure forward. */
  #nextEnd = Promise.withResolvers<void>();

  constructor({ clock, Limiter, gapMs, inFlight }: ThrottleOptions) {
    this.#clock = clock;
    this.#gapMs = gapMs;
    this.#limiter = new Limiter({ maxConcurrent: inFlight, minTime: gapMs });
    this.#spacing = spaceByArrival(gapMs);
  }

  /**
   * Waits until the next request may leave. Runs for one request at a time.
   * @returns the launch for `depart`
   * @throws the signal's reason
   */
  async launched(signal: AbortSignal | undefined): Promise<OpenLaunch> {
    while (this.#open === null && this.#spacing.waitsForAnswer())
      await unlessAborted(this.#nextEnd.promise, signal);
    this.#open ??= this.#launch();
    const launch = await unlessAborted(this.#open, signal);
    for (;;) {
      signal?.throwIfAborted();
      const heldMs = this.#spacing.heldUntil(launch) - this.#clock.monotonic();
      if (heldMs <= 0) return launch;
      await this.#sleep(heldMs, signal);
    }
  }

  /** Records that a request leaves now. */
  depart(launch: OpenLaunch): Departure {
    const start = this.#clock.monotonic();
    this.#open = null;
    this.#spacing.departed(launch, start);
    return {
      start,
      end: () => {
        launch.free();
        this.#nextEnd.resolve();
        this.#nextEnd = Promise.withResolvers();
      },
    };
  }

  /** Records when the request that left at `start` was answered, in monotonic ms. */
  answered(start: number, at: number): void {
    this.#spacing.answered(start, at);
  }

  /** Records that the request that left at `start` ended without an answer: it may still arrive. */
  lost(start: number): void {
    this.#spacing.lost(start);
  }

  /** Requests that the reservoir still holds; null before its first filling. */
  async remaining(): Promise<number | null> {
    return await this.#limiter.currentReservoir();
  }

  /** Sets the reservoir. */
  fill(requests: number): void {
    this.#limiter.updateSettings({ reservoir: Math.max(0, requests) });
  }

  async #launch(): Promise<OpenLaunch> {
    const { monotonic } = this.#clock;
    // Bottleneck starts the gap at the launch, but the service needs it from the departure. The expected hold
    // is therefore part of `minTime`. A changed setting applies to every job that is scheduled later.
    const holdMs = this.#spacing.expectedHold(monotonic());
    if (Math.abs(holdMs - this.#holdMs) > HOLD_NOISE_MS) {
      this.#holdMs = holdMs;
      this.#limiter.updateSettings({ minTime: this.#gapMs + holdMs });
    }
    const launched = Promise.withResolvers<OpenLaunch>();
    const inFlight = async (): Promise<void> => {
      const ended = Promise.withResolvers<void>();
      launched.resolve({ at: monotonic(), holdMs: this.#holdMs, free: ended.resolve });
      await ended.promise;
    };
    void this.#limiter.schedule(inFlight);
    return await launched.promise;
  }

  /** Sleeps for `ms`, or until a request ends. */
  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (ms === Number.POSITIVE_INFINITY) {
      await unlessAborted(this.#nextEnd.promise, signal);
      return;
    }
    const wake = new AbortController();
    const either = signal === undefined ? wake.signal : AbortSignal.any([signal, wake.signal]);
    const asleep = this.#clock.sleep(ms, either).catch(() => signal?.throwIfAborted());
    await Promise.race([asleep, this.#nextEnd.promise]);
    // With a reason: without one, an exception would be made with its stack.
    wake.abort('a request has ended');
    await asleep;
  }
}
