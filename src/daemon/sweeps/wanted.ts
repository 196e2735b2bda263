import { HOUR } from '../../core/clock.ts';
import { listId, type ListKey } from '../../core/lists.ts';

/** A list is wanted at most once in this many ms. Until then further unknown ids are ignored. */
const AGAIN_MS = HOUR;

/** At most 10,000 ids are remembered. Then all are forgotten, and each may want its list once more. */
const MOST_ASKED = 10_000;

/**
 * Lists of users and tags that are read before their slot, because a conversation names an item that the
 * mirror has never had. Each id wants its list once: the service may never list it.
 */
export class WantedLists {
  /** When each list was wanted last, epoch ms. */
  readonly #since = new Map<string, number>();
  readonly #asked = new Set<string>();

  /** @returns true if the list is wanted from now on */
  add(key: ListKey, ids: readonly string[], now: number): boolean {
    const list = listId(key);
    const names = ids.map((id) => `${list} ${id}`);
    if (names.every((name) => this.#asked.has(name))) return false;
    const since = this.#since.get(list) ?? Number.NEGATIVE_INFINITY;
    // A clock that was set back must not hold the list for longer.
    if (now >= since && now < since + AGAIN_MS) return false;
    if (this.#asked.size + names.length > MOST_ASKED) this.#asked.clear();
    for (const name of names) this.#asked.add(name);
    this.#since.set(list, now);
    return true;
  }

  /** When the list was wanted last; null: never. */
  since(key: ListKey): Date | null {
    const at = this.#since.get(listId(key));
    return at === undefined ? null : new Date(at);
  }
}
