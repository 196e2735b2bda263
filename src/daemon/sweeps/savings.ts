import { HOUR } from '../../core/clock.ts';
import type { Credit } from '../../mirror/settings/credit.ts';

/** The walks that save up get this share of the tokens that accrue; the others continue more slowly. */
const SAVED = 1 / 2;

/** A walk that was interrupted finds again for this many ms what it had saved and not spent. */
const KEPT_MS = HOUR;

/** Requests that a walk has saved up for: it may send them without a pause. */
export class Purse {
  #left: number;
  readonly #onClose: (left: number, isDone: boolean) => void;

  constructor(requests: number, onClose: (left: number, isDone: boolean) => void) {
    this.#left = requests;
    this.#onClose = onClose;
  }

  get left(): number {
    return this.#left;
  }

  /** Sends one of the requests. @returns false if none is left */
  spend(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  /** The walk sends no more of them. @param isDone false: it was interrupted */
  close(isDone: boolean): void {
    const left = this.#left;
    this.#left = 0;
    this.#onClose(left, isDone);
  }
}

/** A walk that saves up, and its tokens. */
export interface Saver {
  readonly list: string;
  tokens: number;
}

/**
 * The pacer's tokens that walks save up, to read their pages in a row. Walks save up one after another. What
 * an interrupted walk has saved stays its own for an hour, even if the daemon restarts. Times are monotonic
 * ms.
 */
export class Savings {
  readonly #savers: Saver[] = [];
  readonly #kept = new Map<string, { readonly tokens: number; readonly until: number }>();

  /** Keeps what the walks of the last daemon had saved. */
  restore(saved: Credit['saved'], now: number): void {
    for (const [list, tokens] of Object.entries(saved ?? {})) this.keep({ list, tokens }, now);
  }

  /** A walk saves up from now on. It finds what it had saved before it was interrupted. */
  begin(list: string): Saver {
    const saver = { list, tokens: this.#kept.get(list)?.tokens ?? 0 };
    this.#kept.delete(list);
    this.#savers.push(saver);
    return saver;
  }

  /** A walk has saved enough, or was interrupted. */
  end(saver: Saver, now: number): void {
    this.#savers.splice(this.#savers.indexOf(saver), 1);
    this.keep(saver, now);
  }

  /** Keeps what an interrupted walk has not spent. */
  keep({ list, tokens }: Saver, now: number): void {
    const all = (this.#kept.get(list)?.tokens ?? 0) + tokens;
    if (all > 0) this.#kept.set(list, { tokens: all, until: now + KEPT_MS });
  }

  /** The part of the tokens that accrue which a walk gets. */
  shareOf(saver: Saver): number {
    return saver === this.#savers[0] ? SAVED : 0;
  }

  /** The part of the tokens that accrue which is left to single requests. */
  othersShare(): number {
    return this.#savers.length > 0 ? 1 - SAVED : 1;
  }

  /** Gives the first walk that saves its tokens. */
  add(tokens: number): void {
    const [first] = this.#savers;
    if (first !== undefined) first.tokens += tokens;
  }

  /** Takes away the tokens of the walks that did not come back in time. @returns how many */
  takeLapsed(now: number): number {
    let lapsed = 0;
    for (const [list, { tokens, until }] of this.#kept) {
      if (now < until) continue;
      lapsed += tokens;
      this.#kept.delete(list);
    }
    return lapsed;
  }

  /** The tokens by list, for the record. */
  byList(): Record<string, number> {
    const kept = [...this.#kept].map(([list, { tokens }]) => ({ list, tokens }));
    return Object.fromEntries([...kept, ...this.#savers].map(({ list, tokens }) => [list, tokens]));
  }
}
