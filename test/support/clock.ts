import type { Clock } from '../../src/core/clock.ts';

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/**
 * A clock that advances by itself: it jumps to the end of the earliest sleep and wakes that sleeper.
 * It stops while any `hold`, such as a request on a real socket, is under way.
 */
export class TestClock implements Clock {
  #monotonic = 0;
  #wallOffset: number;
  #bootWall: number;
  #bootShift = 0;
  #suspended = 0;
  #bootId = 'boot-1';
  #container = 'test-host';
  #held = 0;
  #sleepers: Sleeper[] = [];
  #pumping = false;

  constructor(start = Date.parse('2026-03-02T08:00:00.000Z')) {
    this.#wallOffset = start;
    this.#bootWall = start - 3_600_000;
  }

  now = (): number => Math.floor(this.#wallOffset + this.#monotonic);
  monotonic = (): number => this.#monotonic;
  // The name of a container says nothing about the machine: no part of the program may compare it.
  boot = (): { host: string; id: string; at: number } => ({
    host: this.#container,
    id: this.#bootId,
    at: this.#bootWall + this.#bootShift,
  });

  sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const wake = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const sleeper = { at: this.#monotonic + Math.max(0, ms), wake };
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', onAbort);
      this.#sleepers.push(sleeper);
      this.#pump();
    });
  };

  /** Lets time pass at once, without a sleep. */
  advance(ms: number): void {
    this.#monotonic += ms;
  }

  /** Sets the wall clock by `byMs`, as a person does. No time passes. */
  setWall(byMs: number): void {
    this.#wallOffset += byMs;
    this.#bootShift += byMs;
  }

  /** Simulates a machine that sleeps for `ms`: its monotonic clock stands still, its wall clock does not. */
  suspend(ms: number): void {
    this.#wallOffset += ms;
    this.#suspended += ms;
  }

  /** The time that has passed for the world around the machine, in ms. */
  passed = (): number => this.#monotonic + this.#suspended;

  ledgerTime = (): Promise<{ now: number; boot: ReturnType<TestClock['boot']> }> =>
    Promise.resolve({ now: this.now(), boot: this.boot() });

  /** Simulates a new container on the same machine. */
  replaceContainer(): void {
    this.#container = `${this.#container}+`;
  }

  /** Simulates a reboot: the machine is off for `offMs`, and its clock comes up wrong by `byMs`. */
  reboot(offMs: number, byMs = 0): void {
    this.#bootId = `${this.#bootId}+`;
    this.#monotonic += offMs;
    this.#wallOffset += byMs;
    this.#bootWall = this.now() - this.#bootShift;
  }

  /** Continues on another host, whose clock differs by `byMs`. No time passes. */
  moveTo(host: string, byMs: number): void {
    this.#container = host;
    this.reboot(0, byMs);
  }

  async hold<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#held += 1;
    try {
      return await work();
    } finally {
      this.#held -= 1;
      this.#pump();
    }
  }

  #pump(): void {
    if (this.#pumping || this.#held > 0 || this.#sleepers.length === 0) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      if (this.#held > 0 || this.#sleepers.length === 0) return;
      this.#sleepers.sort((a, b) => a.at - b.at);
      const next = this.#sleepers.shift();
      if (next !== undefined) {
        this.#monotonic = Math.max(this.#monotonic, next.at);
        next.wake();
      }
      this.#pump();
    });
  }
}
