import { isMirrorError } from '../../core/errors.ts';
import { plural } from '../../core/humanize.ts';
import type { AppliedPage } from '../../mirror/bookmarks/apply.ts';
import type { Bookmark } from '../../mirror/bookmarks/bookmark.ts';
import type { LossCause } from '../../mirror/bookmarks/lay.ts';
import type { Suspect } from '../../mirror/items/suspects/suspects.ts';
import { isBeyond, isInOrder } from '../../mirror/mirror.ts';
import type { Page } from '../../service/client.ts';
import type { SweepDeps, Tally } from '../deps.ts';
import { askFor } from '../witnesses/ask.ts';
import { judgeSuspects } from '../witnesses/judging.ts';
import { askUnlisted } from '../witnesses/unlisted.ts';
import { reportUnknown } from './unknown.ts';

/** What became of a page that was read by its bookmark. */
export interface Reading {
  /** Null if the page was not applied. */
  readonly page: AppliedPage | null;
  /** The service refused the token, so that the bookmarks have moved. */
  readonly refused: boolean;
  /** Why the list has lost its bookmarks; null if it has not. */
  readonly lost: LossCause | null;
  /** How the answer was cut or empty, in a sentence; null if it was not. It costs the list no bookmark. */
  readonly cut: string | null;
  readonly tally: Readonly<Tally>;
}

const SCHEDULED = { reason: 'schedule', acceptedBy: null, acceptAccount: false } as const;

/**
 * Reads one page of conversations by its bookmark: applies its rows, and decides on the rows that it should
 * hold and lacks as a sweep does. If the page contradicts its bookmark, the list loses all its bookmarks, and
 * no row is deleted. An answer that is only empty or cut says nothing of bookmarks.
 * @param tries at most this many requests for the page; by default as many as the gate sends
 * @throws MirrorError
 */
export async function readBookmark(deps: SweepDeps, bookmark: Bookmark, tries?: number): Promise<Reading> {
  const { client, mirror, account, clock, onEvent, signal } = deps;
  const key = { list: 'conversations', inboxId: bookmark.inboxId } as const;
  const tally: Tally = { inserted: 0, changed: 0, deleted: 0 };
  const unread = { page: null, refused: false, lost: null, cut: null, tally };
  const read = async (token: string | null): Promise<Page> =>
    await account.proven(client, { reason: 'schedule', signal }, () =>
      client.listPage(key, token, { reason: 'page', signal, tries }),
    );
  let page: Page;
  try {
    page = await read(bookmark.token);
  } catch (error) {
    if (!isMirrorError(error, 'TOKEN_REFUSED')) throw error;
    // It is the token that is refused if the service answers without one. Otherwise that page's error counts.
    await read(null);
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
  reportUnknown(deps, key, applied.applied.unknown);
  onEvent({ kind: 'page-read', key, rows: page.items.length });
  return { ...unread, page: applied, ...(await judgePage(deps, bookmark, { applied, tally })) };
}

/** Decides on the rows that a page lacks. */
async function judgePage(
  deps: SweepDeps,
  bookmark: Bookmark,
  { applied, tally }: { applied: AppliedPage; tally: Tally },
): Promise<Partial<Pick<Reading, 'lost' | 'cut'>>> {
  const { mirror, clock } = deps;
  const { suspects, unlisted, shrunk, round } = applied;
  const mistake = async () => ({ lost: await mirror.bookmarks.mistake(bookmark, clock.now()) });
  const start = suspects.find(({ side }) => side === 'start');
  if (shrunk === 'end') return { cut: cutWords(suspects.length) };
  if (shrunk === 'rows')
    return start !== undefined &&
      (await hasStill(deps, applied, start)) &&
      (await hasSlid(deps, applied, start))
      ? await mistake()
      : { lost: 'doubt' };
  const settling = { ...SCHEDULED, askedBefore: true };
  await askUnlisted(deps, round, unlisted, settling, tally);
  const judge = async (some: readonly Suspect[]): Promise<readonly string[]> => {
    if (some.length === 0) return [];
    const verdict = await judgeSuspects(deps, round, some, settling, tally);
    return verdict.refuted;
  };
  const end = suspects.find(({ side }) => side === 'end');
  if (start !== undefined && (await judge([start])).length > 0 && (await hasSlid(deps, applied, start)))
    return await mistake();
  if (end !== undefined && (await judge([end])).length > 0) return { cut: cutWords(suspects.length) };
  const others = suspects.filter((suspect) => suspect !== start && suspect !== end);
  const refuted = await judge(others);
  const late = others.find(({ id, side }) => side === 'start' && refuted.includes(id));
  return late !== undefined && (await hasSlid(deps, applied, late)) ? await mistake() : {};
}

/**
 * True if the page before shows a row that should begin this page: both pages have moved, because their
 * tokens are positions. If it does not, the list leaves the row out.
 */
async function hasSlid(
  { client, account, signal }: SweepDeps,
  { round, tokenBefore }: AppliedPage,
  { id }: Suspect,
): Promise<boolean> {
  if (tokenBefore === undefined) return false;
  const call = { reason: 'schedule', signal } as const;
  try {
    const { items, rejects } = await account.proven(client, call, () =>
      client.listPage(round, tokenBefore, { reason: 'page', signal }),
    );
    return [...items, ...rejects].some((row) => row.id === id);
  } catch (error) {
    if (!isMirrorError(error, 'TOKEN_REFUSED')) throw error;
    return true;
  }
}

function cutWords(rows: number): string {
  return `the page was empty or cut: it lacked ${plural(rows, 'row')} that should follow its last one`;
}

/** True if the service still has a row that a page lacks. It may refuse that one, and not the list. */
async function hasStill(
  { client, account, signal }: SweepDeps,
  { round }: AppliedPage,
  suspect: Suspect,
): Promise<boolean> {
  const call = { reason: 'probe', scheduled: true, signal } as const;
  try {
    const { kind } = await account.proven(client, call, () => askFor(client, round, suspect, call));
    return kind === 'there';
  } catch (error) {
    if (!isMirrorError(error, 'REQUEST_REFUSED', 'BAD_ANSWER')) throw error;
    return false;
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
