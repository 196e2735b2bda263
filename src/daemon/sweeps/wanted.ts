import { HOUR } from '../../core/clock.ts';
import { listId, type ListKey } from '../../core/lists.ts';

/** A list is wanted at most once in this many ms. Unknown ids that come earlier want it after this time. */
const AGAIN_MS = HOUR;

/** At most 10,000 ids are remembered. Then all are forgotten, and each may want its list once more. */
const MOST_IDS = 10_000;

/** When a list was wanted last, and when it will be again (null: by no id so far); monotonic ms. */
interface Wanted {
  readonly since: number;
  readonly again: number | null;
}

/**
 * Lists of users and tags that are read before their slot, because a conversation names an item that the
 * mirror has never had. Each id wants its list once: the service may never list it. Times are monotonic ms:
 * a wall clock that is set back would make them later than every reading to come.
 */
export class WantedLists {
  readonly #wanted = new Map<string, Wanted>();
  readonly #known = new Set<string>();

  /** @returns true if the list is wanted from now on */
  add(key: ListKey, ids: readonly string[], now: number): boolean {
    const list = listId(key);
    const names = ids.map((id) => `${list} ${id}`);
    if (names.every((name) => this.#known.has(name))) return false;
    if (this.#known.size + names.length > MOST_IDS) this.#known.clear();
    for (const name of names) this.#known.add(name);
    const since = this.since(key, now) ?? Number.NEGATIVE_INFINITY;
    const isEarly = now < since + AGAIN_MS;
    this.#wanted.set(list, isEarly ? { since, again: since + AGAIN_MS } : { since: now, again: null });
    return !isEarly;
  }

  /** Wants the list now, for no id. */
  again(key: ListKey, now: number): void {
    this.#wanted.set(listId(key), { since: now, again: null });
  }

  /** Since when the list is wanted; null: never so far. */
  since(key: ListKey, now: number): number | null {
    const wanted = this.#wanted.get(listId(key));
    if (wanted === undefined) return null;
    const { since, again } = wanted;
    return again === null || again > now ? since : again;
  }
}
