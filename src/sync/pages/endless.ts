import { MirrorError } from '../../core/errors.ts';
import { describeList, resyncCommand } from '../../core/lists.ts';
import type { Sweep } from '../../mirror/sweeps/sweeps.ts';
import type { Page } from '../../service/client.ts';

/** A list of more than 100,000 pages counts as endless: no list has ten million rows. */
const MOST_PAGES = 100_000;

/** A list may have ten times the pages of its last complete sweep, and 100 more. */
const GROWTH = { factor: 10, pages: 100 };

/** After this many pages in a row without a new row the list counts as endless. */
const MOST_STALE_PAGES = 2;

/** Finds a walk that has no end, page by page. A resumed walk has a new one. */
export class EndGuard {
  readonly #knownPages: number | null;
  readonly #seen = new SeenIds();
  #stalePages = 0;

  /** @param knownPages pages of the last complete sweep; null: no limit but {@link MOST_PAGES} */
  constructor(knownPages: number | null) {
    this.#knownPages = knownPages;
  }

  /** @throws MirrorError `ENDLESS_LIST` for a page that shows that the list has no end */
  check(sweep: Sweep, { next, items, rejects }: Page): void {
    if (next === null) return;
    const ids = [...items, ...rejects].map(({ id }) => id);
    this.#stalePages = this.#seen.hasNew(ids) ? 0 : this.#stalePages + 1;
    const problem = sweep.tokens.has(next)
      ? 'returned the same page token twice'
      : ids.length === 0
        ? 'returned an empty page with a next-page token'
        : this.#stalePages >= MOST_STALE_PAGES
          ? 'returned two pages in a row without a new row'
          : this.#tooLong(sweep);
    if (problem === null) return;
    throw new MirrorError(
      'ENDLESS_LIST',
      `The list of ${describeList(sweep)} ${problem} (at page ${sweep.pages + 1}), ` +
        'so its end cannot be found. Every page read so far is kept and nothing is marked as deleted; ' +
        'the next pass starts at the first page.',
    );
  }

  #tooLong(sweep: Sweep): string | null {
    const pages = sweep.pages + 1;
    const known = this.#knownPages;
    if (pages >= MOST_PAGES) return `has more than ${MOST_PAGES} pages`;
    if (known === null) return null;
    const most = GROWTH.factor * known + GROWTH.pages;
    if (pages < most) return null;
    return (
      `has more than ${most} pages, but had ${known} when it was last complete ` +
      `(\`${resyncCommand(sweep)}\` reads it whatever its length)`
    );
  }
}

/** The bits of a set of ids: 1 MB for any number of them. */
const BITS = 2 ** 23;

/**
 * A set of ids that may take a new id for a known one, never the reverse. In a list of a million rows this
 * happens to one id in nine, so practically never to a whole page.
 */
class SeenIds {
  #bits: Uint8Array | null = null;

  /** Adds the ids. @returns whether one of them is new; a row without an id always is */
  hasNew(ids: readonly (string | null)[]): boolean {
    const bits = (this.#bits ??= new Uint8Array(BITS / 8));
    let isNew = false;
    for (const id of ids) {
      const at = id === null ? null : hashOf(id) % BITS;
      if (at === null || ((bits[at >> 3] ?? 0) & (1 << (at & 7))) === 0) isNew = true;
      if (at !== null) bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
    }
    return isNew;
  }
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
