import { HOUR } from '../../core/clock.ts';
import { listId, type ListKey } from '../../core/lists.ts';

/** A list is wanted at most once in this many ms. Unknown ids that come earlier want it after this time. */
const AGAIN_MS = HOUR;

/** At most 10,000 ids are remembered. Then all are forgotten, and each may want its list once more. */
const MOST_ASKED = 10_000;

/** When a list was wanted last, and when it will be again (null: by no id so far); epoch ms. */
interface Wanted {
  readonly since: number;
  readonly again: number | null;
}

/**
 * Lists of users and tags that are read before their slot, because a conversation names an item that the
 * mirror has never had. Each id wants its list once: the service may never list it.
 */
export class WantedLists {
  readonly #wanted = new Map<string, Wanted>();
  readonly #asked = new Set<string>();

  /** @returns true if the list is wanted from now on */
  add(key: ListKey, ids: readonly string[], now: number): boolean {
    const list = listId(key);
    const names = ids.map((id) => `${list} ${id}`);
    if (names.every((name) => this.#asked.has(name))) return false;
    if (this.#asked.size + names.length > MOST_ASKED) this.#asked.clear();
    for (const name of names) this.#asked.add(name);
    const since = this.#wanted.get(list)?.since ?? Number.NEGATIVE_INFINITY;
    // A clock that was set back must not hold the list for longer.
    const isEarly = now >= since && now < since + AGAIN_MS;
    this.#wanted.set(list, isEarly ? { since, again: since + AGAIN_MS } : { since: now, again: null });
    return !isEarly;
  }

  /** Wants the list now, for no id. */
  again(key: ListKey, now: number): void {
    this.#wanted.set(listId(key), { since: now, again: null });
  }

  /** Since when the list is wanted; null: never so far. `now` is epoch ms. */
  since(key: ListKey, now: number): Date | null {
    const list = listId(key);
    const wanted = this.#wanted.get(list);
    if (wanted === undefined) return null;
    const { since, again } = wanted;
    if (again === null || again > now) return new Date(since);
    this.#wanted.set(list, { since: again, again: null });
    return new Date(again);
  }
}
