import { isMirrorError } from '../../core/errors.ts';
import type { AppliedPage, Bookmark } from '../../mirror/bookmarks/apply.ts';
import type { LossCause } from '../../mirror/bookmarks/lay.ts';
import { isBeyond, isInOrder } from '../../mirror/mirror.ts';
import type { Page } from '../../service/client.ts';
import type { SweepDeps, Tally } from '../deps.ts';
import { judgeSuspects } from '../suspects.ts';

/** What became of a page that was read by its bookmark. */
export interface Reading {
  /** Null if the page was not applied. */
  readonly page: AppliedPage | null;
  /** The service refused the token, so that the bookmarks have moved. */
  readonly refused: boolean;
  /** Why the list has lost its bookmarks; null if it has not. */
  readonly lost: LossCause | null;
  readonly tally: Readonly<Tally>;
}

const SCHEDULED = { reason: 'schedule', acceptDeletes: false, acceptAccount: false } as const;

/**
 * Reads one page of conversations by its bookmark: applies its rows, and decides on the rows that it should
 * hold and lacks as a sweep does. A page that shows that the bookmarks do not hold what they promise costs
 * the list its bookmarks, and deletes nothing.
 * @throws MirrorError
 */
export async function readBookmark(deps: SweepDeps, bookmark: Bookmark): Promise<Reading> {
  const { client, mirror, account, clock, onEvent, signal } = deps;
  const key = { list: 'conversations', inboxId: bookmark.inboxId } as const;
  const tally: Tally = { inserted: 0, changed: 0, deleted: 0 };
  const unread = { page: null, refused: false, lost: null, tally };
  await account.prove(client, { reason: 'schedule', signal }, false);
  let page: Page;
  try {
    page = await client.listPage(key, bookmark.token, { reason: 'schedule', signal });
  } catch (error) {
    if (!isMirrorError(error, 'TOKEN_REFUSED')) throw error;
    const isLost = await mirror.bookmarks.refuse(bookmark, clock.now());
    return { ...unread, refused: true, lost: isLost ? 'expiry' : null };
  }
  const flaw = flawOf(bookmark, page);
  if (flaw === 'order') await mirror.bookmarks.lose(bookmark, 'order', clock.now());
  if (flaw !== null)
    return {
      ...unread,
      lost: flaw === 'order' ? flaw : await mirror.bookmarks.mistake(bookmark, clock.now()),
    };
  const applied = await mirror.bookmarks.apply(bookmark, page, clock.now());
  const { inserted, changed } = applied.applied;
  tally.inserted += inserted;
  tally.changed += changed;
  onEvent({ kind: 'rows', key, rows: { inserted, changed, rejected: page.rejects.length } });
  onEvent({ kind: 'page-read', key, rows: page.items.length });
  if (applied.shrunk) return { ...unread, page: applied, lost: 'doubt' };
  if (applied.suspects.length === 0) return { ...unread, page: applied };
  const options = { ...SCHEDULED, askedBefore: true };
  const { refuted } = await judgeSuspects(deps, applied.round, applied.suspects, options, tally);
  const isMistaken = refuted.some((id) => !isWithin(bookmark, page, id));
  const lost = isMistaken ? await mirror.bookmarks.mistake(bookmark, clock.now()) : null;
  return { ...unread, page: applied, lost };
}

/**
 * What a page shows about its bookmark: the list has no order, or the token leads to other rows than before.
 */
function flawOf({ direction, afterId, token }: Bookmark, page: Page): 'order' | 'start' | null {
  const ids = page.items.map(({ id }) => id);
  const [first] = ids;
  if (!isInOrder(direction, ids)) return 'order';
  if (page.next !== null && (first === undefined || page.next === token)) return 'order';
  const startsEarly = first !== undefined && afterId !== '' && !isBeyond(direction, first, afterId);
  return startsEarly ? 'start' : null;
}

/** True for an id between the page's first and last one: the page would have shown it. */
function isWithin({ direction }: Bookmark, { items }: Page, id: string): boolean {
  const [first, last] = [items.at(0)?.id, items.at(-1)?.id];
  if (first === undefined || last === undefined) return false;
  return isBeyond(direction, id, first) && isBeyond(direction, last, id);
}
