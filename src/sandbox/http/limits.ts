import type { SandboxOptions } from '../options.ts';
import { Refusal } from './messages.ts';

const DAY_MS = 86_400_000;

/**
 * The service's limits, read strictly (spec §8): an arrival less than 1/rate after the last one is refused, refused ones
 * included, and so is one that finds the cap used up by the last 24 hours. Refused requests do not use up the cap.
 */
export class Limits {
  readonly #options: Pick<SandboxOptions, 'rate' | 'perDay' | 'retryAfter'>;
  #last: number | null = null;
  /** Arrivals of the last 24 hours that count, oldest first. */
  readonly #counted: number[] = [];

  constructor(options: Pick<SandboxOptions, 'rate' | 'perDay' | 'retryAfter'>) {
    this.#options = options;
  }

  /** @throws Refusal 429 when the arrival at `at` (ms) exceeds a limit. */
  judge(at: number): void {
    const { rate, perDay } = this.#options;
    const gap = rate > 0 ? 1000 / rate : 0;
    const tooSoon = rate > 0 && this.#last !== null && at - this.#last < gap;
    while (this.#counted.length > 0 && at - (this.#counted[0] ?? at) >= DAY_MS) this.#counted.shift();
    const capUsed = perDay > 0 && this.#counted.length >= perDay;
    this.note(at, !tooSoon && !capUsed);
    if (!tooSoon && !capUsed) return;

    const wait = Math.max(gap, capUsed ? (this.#counted[0] ?? at) + DAY_MS - at : 0);
    const limit = capUsed ? `${perDay} requests in 24 hours` : `${rate} requests per second`;
    throw new Refusal(429, `Too Many Requests: more than ${limit}`, this.#hint(at, wait));
  }

  /** Remembers an arrival without judging it; `counts` towards the cap or not. */
  note(at: number, counts: boolean): void {
    this.#last = at;
    if (counts && this.#options.perDay > 0) this.#counted.push(at);
  }

  // Both forms know whole seconds only; rounded up, who obeys them is never early.
  #hint(at: number, wait: number): Record<string, string> {
    const { retryAfter } = this.#options;
    if (retryAfter === null) return {};
    if (retryAfter === 'seconds') return { 'retry-after': String(Math.ceil(wait / 1000)) };
    return { 'retry-after': new Date(Math.ceil((at + wait) / 1000) * 1000).toUTCString() };
  }
}
