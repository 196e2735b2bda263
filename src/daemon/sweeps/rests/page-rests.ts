import { HOUR, MINUTE } from '../../../core/clock.ts';
import type { Bookmark } from '../../../mirror/bookmarks/bookmark.ts';
import { Backoff } from './backoff.ts';

/** Once two pages of a list in a row could not be read, the second one rests for at least this many ms. */
const LONG_REST_MS = HOUR;

/** A list of which a page was refused or wrong rests for this long. */
export const FAULTY_REST = { firstMs: 10 * MINUTE, longestMs: 10 * MINUTE };

/** The pages of conversations that could not be read, and their lists. Times are monotonic ms. */
export class PageRests {
  readonly #pages = new Backoff({ firstMs: 10 * MINUTE, longestMs: 4 * HOUR });
  /** Lists, by inbox. They rest for less long than a page: the next try may read another one. */
  readonly #lists = new Backoff({ firstMs: 10 * MINUTE, longestMs: LONG_REST_MS });
  /** Whether the last page of a list was read, by inbox; none for a list of which this process tried none. */
  readonly #wasRead = new Map<string, boolean>();

  /**
   * Lets a page that could not be read rest. Its list rests too if the list's previous reading failed as
   * well, or if the service asks to wait (`leastMs`; 0: it does not).
   * @returns the length of the list's rest, or else of the page's, in ms
   */
  begin(page: Bookmark, now: number, leastMs: number): number {
    const { inboxId } = page;
    const isList = leastMs > 0 || this.#wasRead.get(inboxId) === false;
    this.#wasRead.set(inboxId, false);
    const lasts = this.#pages.begin(nameOf(page), now, isList ? LONG_REST_MS : 0);
    return isList ? this.#lists.begin(inboxId, now, leastMs) : lasts;
  }

  /** A page was read. */
  end(page: Bookmark): void {
    this.#pages.end(nameOf(page));
    this.#lists.end(page.inboxId);
    this.#wasRead.set(page.inboxId, true);
  }

  /** When the page may be read; 0 if it does not rest. */
  until(page: Bookmark): number {
    return Math.max(this.#pages.until(nameOf(page)), this.#lists.until(page.inboxId));
  }

  /**
   * True unless the last page of the list was read. The first page of a process gets one try too. It is often
   * one that failed before: rests do not outlast the process, and old pages go first.
   */
  getsOneTry(inboxId: string): boolean {
    return this.#wasRead.get(inboxId) !== true;
  }
}

function nameOf({ inboxId, afterId }: Bookmark): string {
  return `${inboxId}/${afterId}`;
}
