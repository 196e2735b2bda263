import { HOUR } from '../../core/clock.ts';
import type { Credit } from '../../mirror/settings/credit.ts';

/** The walks that save up get this share of the credits that accrue; the others continue more slowly. */
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

/** A walk that saves up, and its credits. */
export interface Saver {
  readonly list: string;
  credits: number;
}

/**
 * The pacer's credits that walks save up, to read their pages in a row. Walks save up one after another. An
 * interrupted walk keeps the rest of its credits for an hour, as far as the record has them also after a
 * restart. The record lacks the credits of a purse: a walk that ends with its daemon has lost them. Times are
 * monotonic ms.
 */
export class Savings {
  readonly #savers: Saver[] = [];
  readonly #kept = new Map<string, { readonly credits: number; readonly until: number }>();

  /** Keeps what the walks of the last daemon had saved. */
  restore(saved: Credit['saved'], now: number): void {
    for (const [list, credits] of Object.entries(saved ?? {})) this.keep({ list, credits }, now);
  }

  /** A walk saves up from now on. It finds what it had saved before it was interrupted. */
  begin(list: string): Saver {
    const saver = { list, credits: this.#kept.get(list)?.credits ?? 0 };
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
  keep({ list, credits }: Saver, now: number): void {
    const all = (this.#kept.get(list)?.credits ?? 0) + credits;
    if (all > 0) this.#kept.set(list, { credits: all, until: now + KEPT_MS });
  }

  /** The part of the credits that accrue which a walk gets. */
  shareOf(saver: Saver): number {
    return saver === this.#savers[0] ? SAVED : 0;
  }

  /** The part of the credits that accrue which is left to single requests. */
  othersShare(): number {
    return this.#savers.length > 0 ? 1 - SAVED : 1;
  }

  /** Gives the first walk that saves its credits. */
  add(credits: number): void {
    const [first] = this.#savers;
    if (first !== undefined) first.credits += credits;
  }

  /** Takes away the credits of the walks that did not come back in time. @returns how many */
  takeLapsed(now: number): number {
    let lapsed = 0;
    for (const [list, { credits, until }] of this.#kept) {
      if (now < until) continue;
      lapsed += credits;
      this.#kept.delete(list);
    }
    return lapsed;
  }

  /** The credits by list, for the record. */
  byList(): Record<string, number> {
    const kept = [...this.#kept].map(([list, { credits }]) => ({ list, credits }));
    return Object.fromEntries([...kept, ...this.#savers].map(({ list, credits }) => [list, credits]));
  }
}
