import { DAY, SECOND } from '../../core/clock.ts';
import { plural } from '../../core/humanize.ts';
import type { SandboxOptions } from '../options.ts';
import { Refusal } from './messages.ts';

/**
 * The service's limits, read strictly (spec §8). They refuse a request that arrives less than 1/rate after
 * the previous one, even if the previous one was refused. They also refuse a request once the last 24 hours
 * hold `perDay` requests. Refused requests do not count towards `perDay`.
 */
export class Limits {
  readonly #options: Pick<SandboxOptions, 'rate' | 'perDay' | 'retryAfter'>;
  #lastArrival: number | null = null;
  /** The arrivals of the last 24 hours that count towards the cap, oldest first. */
  readonly #counted: number[] = [];

  constructor(options: Pick<SandboxOptions, 'rate' | 'perDay' | 'retryAfter'>) {
    this.#options = options;
  }

  /** Records an arrival at `at` (ms). @throws Refusal 429 if it exceeds a limit */
  check(at: number): void {
    const { rate, perDay } = this.#options;
    const gap = rate > 0 ? SECOND / rate : 0;
    const tooSoon = rate > 0 && this.#lastArrival !== null && at - this.#lastArrival < gap;
    while (this.#counted.length > 0 && at - (this.#counted[0] ?? at) >= DAY) this.#counted.shift();
    const capUsed = perDay > 0 && this.#counted.length >= perDay;
    this.record(at, !tooSoon && !capUsed);
    if (!tooSoon && !capUsed) return;

    const wait = Math.max(gap, capUsed ? (this.#counted[0] ?? at) + DAY - at : 0);
    const limit = capUsed ? `${perDay} requests in 24 hours` : `${plural(rate, 'request')} per second`;
    throw new Refusal(429, `Too Many Requests: more than ${limit}`, this.#retryAfterHeader(at, wait));
  }

  /** Records an arrival without a check. `counts`: whether it counts towards the cap. */
  record(at: number, counts: boolean): void {
    this.#lastArrival = at;
    if (counts && this.#options.perDay > 0) this.#counted.push(at);
  }

  // Both forms carry whole seconds. They are rounded up, so a client that obeys them is never early.
  #retryAfterHeader(at: number, wait: number): Record<string, string> {
    const { retryAfter } = this.#options;
    if (retryAfter === null) return {};
    if (retryAfter === 'seconds') return { 'retry-after': String(Math.ceil(wait / SECOND)) };
    return { 'retry-after': new Date(Math.ceil((at + wait) / SECOND) * SECOND).toUTCString() };
  }
}
