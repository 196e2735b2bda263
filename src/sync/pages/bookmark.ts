import { isMirrorError } from '../../core/errors.ts';
import { conversationsOf } from '../../core/lists.ts';
import type { AppliedPage } from '../../mirror/bookmarks/apply.ts';
import type { Bookmark } from '../../mirror/bookmarks/bookmark.ts';
import type { LossCause } from '../../mirror/bookmarks/lay.ts';
import type { Suspect } from '../../mirror/items/suspects/suspects.ts';
import { isBeyond, isInOrder } from '../../mirror/mirror.ts';
import type { Page } from '../../service/client.ts';
import { countRows, SCHEDULED, type SweepDeps, type Tally } from '../deps.ts';
import type { Settling } from '../witnesses/hearing.ts';
import { judgeSuspects } from '../witnesses/judging.ts';
import { askUnlisted } from '../witnesses/unlisted.ts';
import type { OddRows } from './odd.ts';
import { askSample } from './shrunk.ts';
import { reportUnknown } from './unknown.ts';

/** The result of reading a page by its bookmark. */
export interface Reading {
  /** Null if the page was not applied. */
  readonly page: AppliedPage | null;
  /** Why the list has lost its bookmarks; null if it has not. */
  readonly lost: LossCause | null;
  /** How the answer was cut or empty, in a sentence; null if it was not. It costs the list no bookmark. */
  readonly cut: string | null;
  readonly tally: Readonly<Tally>;
}

/** A question of a page gets one try, as in a resumed sweep. One that fails does not end the reading. */
const SETTLING: Settling = { ...SCHEDULED, askedBefore: true };

const CUT = 'the page was empty or cut: it lacked rows that should follow its last one';

export interface ReadingOptions {
  /** At most this many requests for the page; by default as many as the gate sends. */
  readonly tries?: number | undefined;
  /**
   * The list's last answer was refused, wrong or cut. If this page lacks many rows at its end, a sample of
   * them decides whether it is right.
   */
  readonly isSecondFault?: boolean;
  /** Reports the page's rows that are not as specified; by default they are not reported. */
  readonly oddRows?: OddRows;
}

/**
 * Reads one page of conversations by its bookmark: applies its rows, and decides on the rows that it should
 * hold and lacks as a sweep does. If the page contradicts its bookmark, the list loses all its bookmarks, and
 * no row is deleted. An answer that is only empty or cut says nothing of bookmarks.
 * @throws MirrorError
 */
export async function readBookmark(
  deps: SweepDeps,
  bookmark: Bookmark,
  { tries, isSecondFault = false, oddRows }: ReadingOptions = {},
): Promise<Reading> {
  const { client, mirror, account, clock, onEvent, signal } = deps;
  const key = conversationsOf(bookmark.inboxId);
  const tally: Tally = { inserted: 0, changed: 0, deleted: 0 };
  const unread = { page: null, lost: null, cut: null, tally };
  const read = async (token: string | null): Promise<Page> =>
    await account.sendProven(client, { reason: 'schedule', signal }, () =>
      client.listPage(key, token, { reason: 'page', signal, tries }),
    );
  let page: Page;
  try {
    page = await read(bookmark.token);
  } catch (error) {
    if (!isMirrorError(error, 'TOKEN_REFUSED')) throw error;
    // It is the token that is refused if the service answers without one. Otherwise that page's error counts.
    await read(null);
    return { ...unread, lost: await mirror.bookmarks.recordRefusal(bookmark, clock.now()) };
  }
  const flaw = flawOf(bookmark, page);
  if (flaw === 'order')
    return { ...unread, lost: await mirror.bookmarks.lose(bookmark, 'order', clock.now()) };
  if (flaw === 'start')
    return { ...unread, lost: await mirror.bookmarks.recordMistake(bookmark, clock.now()) };
  const readAt = clock.now();
  const applied = await mirror.bookmarks.apply(bookmark, page, readAt);
  const { inserted, changed } = applied.applied;
  countRows(deps, key, tally, { inserted, changed, rejected: page.rejects.length });
  reportUnknown(deps, key, applied.applied.unknown);
  oddRows?.report(deps, applied.round, page);
  onEvent({ kind: 'page-read', key, rows: page.items.length });
  const judged =
    applied.shrunk === null
      ? await judgePage(deps, bookmark, applied, tally)
      : await judgeShrunk(deps, bookmark, applied, { page, readAt, isSecondFault }, tally);
  return { ...unread, page: applied, ...judged };
}

type Judged = Partial<Pick<Reading, 'lost' | 'cut'>>;

/**
 * Decides on a page that lacks so many rows that its answer may be wrong. It is judged as any other if the
 * service does not know a sample of these rows.
 */
async function judgeShrunk(
  deps: SweepDeps,
  bookmark: Bookmark,
  applied: AppliedPage,
  { page, readAt, isSecondFault }: { page: Page; readAt: number; isSecondFault: boolean },
  tally: Tally,
): Promise<Judged> {
  const { mirror, clock } = deps;
  if (applied.shrunk === 'end' && !isSecondFault) return { cut: CUT };
  const { areGone, slid } = await askSample(deps, applied, SETTLING, tally);
  if (areGone) {
    const suspects = await mirror.bookmarks.believe(bookmark, page, readAt);
    return await judgePage(deps, bookmark, { ...applied, suspects }, tally);
  }
  if (applied.shrunk === 'end') return { cut: CUT };
  if (slid !== null && (await hasSlid(deps, applied, slid)))
    return { lost: await mirror.bookmarks.recordMistake(bookmark, clock.now()) };
  return { lost: await mirror.bookmarks.lose(bookmark, 'doubt', clock.now()) };
}

/** Decides on the rows that a page lacks. */
async function judgePage(
  deps: SweepDeps,
  bookmark: Bookmark,
  applied: AppliedPage,
  tally: Tally,
): Promise<Judged> {
  const { mirror, clock } = deps;
  const { suspects, unlisted, round } = applied;
  const mistake = async () => ({ lost: await mirror.bookmarks.recordMistake(bookmark, clock.now()) });
  const start = suspects.find(({ side }) => side === 'start');
  await askUnlisted(deps, round, unlisted, SETTLING, tally);
  const judge = async (some: readonly Suspect[]): Promise<readonly string[]> => {
    if (some.length === 0) return [];
    const verdict = await judgeSuspects(deps, round, some, SETTLING, tally);
    return verdict.refuted;
  };
  const end = suspects.find(({ side }) => side === 'end');
  if (start !== undefined && (await judge([start])).length > 0 && (await hasSlid(deps, applied, start)))
    return await mistake();
  if (end !== undefined && (await judge([end])).length > 0) return { cut: CUT };
  const others = suspects.filter((suspect) => suspect !== start && suspect !== end);
  const refuted = await judge(others);
  const late = others.find(({ id, side }) => side === 'start' && refuted.includes(id));
  return late !== undefined && (await hasSlid(deps, applied, late)) ? await mistake() : {};
}

/**
 * True if the page before shows a row that should begin this page, or if its token is refused: both pages
 * have moved, because their tokens are positions. Otherwise the list leaves the row out.
 */
async function hasSlid(
  { client, account, signal }: SweepDeps,
  { round, tokenBefore }: AppliedPage,
  { id }: Suspect,
): Promise<boolean> {
  if (tokenBefore === undefined) return false;
  const call = { reason: 'schedule', signal } as const;
  try {
    const { items, rejects } = await account.sendProven(client, call, () =>
      client.listPage(round, tokenBefore, { reason: 'page', signal }),
    );
    return [...items, ...rejects].some((row) => row.id === id);
  } catch (error) {
    if (!isMirrorError(error, 'TOKEN_REFUSED')) throw error;
    return true;
  }
}

/**
 * The flaw of a page; null if it has none. `order`: its ids are out of order, it is empty and has a next
 * page, or it is its own next page. `start`: it begins before its bookmark.
 */
function flawOf({ direction, afterId, token }: Bookmark, page: Page): 'order' | 'start' | null {
  const ids = page.items.map(({ id }) => id);
  const [first] = ids;
  if (!isInOrder(direction, ids)) return 'order';
  if (page.next !== null && (first === undefined || page.next === token)) return 'order';
  const startsEarly = first !== undefined && afterId !== '' && !isBeyond(direction, first, afterId);
  return startsEarly ? 'start' : null;
}
