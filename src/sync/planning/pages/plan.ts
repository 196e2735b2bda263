import { type Budget, scheduledCap } from '../../../core/budget.ts';
import { DAY, HOUR } from '../../../core/clock.ts';
import type { StoredBookmark } from '../../../mirror/bookmarks/bookmarks.ts';
import { isUnread } from '../../../mirror/mirror.ts';
import type { Schedule } from '../../../mirror/schedules.ts';
import { type Cron, slotsPerDay } from '../cron.ts';
import { depthOf, type Moment, type PageView, valueOf } from './value.ts';

/** A bookmark and its depth in the list. */
export interface PlannedPage extends PageView {
  readonly bookmark: StoredBookmark;
  /** The page was not read yet: an earlier one has led to it. */
  readonly isUnread: boolean;
}

/** Every page that was read before `since` must be read by `deadline`; both are epoch ms. */
export interface Demand {
  readonly since: number;
  readonly deadline: number;
}

/**
 * The readings that the schedule of conversations demands. The first demand ends at the next slot, and after
 * a day at most. If pages are read over several days, the others end on the days after it, and need requests
 * only if they would not fit later.
 */
export type Cover = readonly [Demand, ...Demand[]];

/** Slots at least this many ms apart are not those of a daily schedule, not even where summer time begins. */
const SELDOM_MS = 2 * DAY;

/**
 * The cover of a number of pages, null before the first slot, and the days over which it is spread. A
 * schedule with slots farther apart than a day counts as if it had one each day: no page waits longer, unless
 * that would take more than half of the budget.
 */
export function coverOf(
  schedules: readonly Pick<Schedule, 'list' | 'dueSince' | 'nextAt'>[],
  pages: number,
  {
    budget,
    stretches,
    now,
  }: { budget: Pick<Budget, 'perDay' | 'reserved'>; stretches: boolean; now: number },
): { cover: Cover | null; days: number } {
  const spread = daysOfCover(pages, budget);
  const schedule = schedules.find(({ list }) => list === 'conversations');
  if (schedule === undefined || schedule.dueSince === null)
    return { cover: null, days: stretches ? spread : 1 };
  const dueSince = schedule.dueSince.getTime();
  const nextAt = schedule.nextAt.getTime();
  // A person who sets slots so far apart does not ask for a cover each day.
  const isSeldom = nextAt - dueSince >= SELDOM_MS;
  const days = stretches || isSeldom ? spread : 1;
  // The 25th hour, where summer time ends, is no day of its own: it would want all pages within the hour.
  const last = Math.max(1, Math.ceil((nextAt - dueSince - HOUR) / DAY)) - 1;
  const passed = Math.floor(Math.max(0, now - dueSince) / DAY);
  const nth = now < nextAt ? Math.min(passed, last) : passed;
  const slot = dueSince + nth * DAY;
  const next = nth < last ? slot + DAY : nextAt;
  const demand = (later: number): Demand => ({
    since: slot - (days - 1 - later) * DAY,
    deadline: next + later * DAY,
  });
  const others = Array.from({ length: days - 1 }, (_, index) => demand(index + 1));
  return { cover: [demand(0), ...others], days };
}

/** Covers that begin in a day, as {@link coverOf} counts the slots of a schedule. */
export function coversPerDay(cron: Cron, now: number): number {
  return Math.max(1, slotsPerDay(cron, now));
}

/** Why a page is read next. */
export type Why = 'schedule' | 'value';

/** Of the requests until the deadline, this share counts as free for pages; other lists need the rest. */
const CERTAIN = 0.8;

/**
 * A later demand takes requests only once it needs this share of those until its deadline. Before, the pages
 * of the greatest value are read, and many of them are pages of the demand.
 */
const URGENT = 0.8;

/**
 * While the best page is worth less than this share of the usual value, the schedule's pages go first: they
 * take the hours in which little changes.
 */
const CHEAP = 0.6;

/**
 * While the schedule needs more than this share of the requests for pages, no spare walk begins: beside four
 * of them, the pages get a third of the pace.
 */
const MOST_BESIDE_SPARES = 1 / 3;

/** Walks get at most this share of the requests for the pages of the greatest value, besides their own. */
const MOST_FOR_WALKS = 0.9;

/** The usual value is the geometric mean of about this many of the last values. */
const REMEMBERED = 200;

/** One value moves the usual one as if it were at most this many times as large, or as small. */
const OUTLIER = 4;

/** Covers that would take more than this share of the budget are stretched over several days. */
const MOST_FOR_COVER = 0.5;

/**
 * An unread page that stays unread is chosen again after this many ms, then after twice as long each time:
 * its answers may always be cut or fail.
 */
const UNREAD_REST = { firstMs: HOUR, longestMs: DAY };

/**
 * Chooses which page of conversations is read next (docs/decisions/0019). Most requests go to the page of the
 * greatest value. The schedule gets as many of them as it needs, so that the last page is read in time, and
 * those that would bring little elsewhere.
 */
export class PagePlan {
  #pages = new Map<string, PlannedPage[]>();
  /** Grows with each choice by the schedule's share; one is a page. */
  #owed = 0;
  /** Requests that walks need before the next slot: see {@link leaveToWalks}. */
  #walks = 0;
  /** Grows with each choice by value by the share that walks need; one is a request for them. */
  #owedToWalks = 0;
  /** The usual value of the pages that were chosen by their value, and how many choices it remembers. */
  #usual = { value: 0, of: 0 };
  /** The last choice was a page that was not read yet: they get half of the requests. */
  #wasUnread = false;
  /** The unread page of each inbox that was chosen last, and when it is chosen again (epoch ms). */
  readonly #tried = new Map<string, { afterId: string; waitMs: number; again: number }>();

  /** Replaces all lists. */
  load(lists: ReadonlyMap<string, readonly StoredBookmark[]>): void {
    this.#pages = new Map([...lists].map(([inboxId, list]) => [inboxId, plannedPages(list)]));
  }

  /** Replaces one list; an empty one removes it. */
  replace(inboxId: string, list: readonly StoredBookmark[]): void {
    if (list.length === 0) this.#pages.delete(inboxId);
    else this.#pages.set(inboxId, plannedPages(list));
  }

  get size(): number {
    return this.all().length;
  }

  all(): PlannedPage[] {
    return [...this.#pages.values()].flat();
  }

  /** Treats a page as read at an instant (epoch ms), to look further ahead. */
  touch(page: PlannedPage, readAt: number): void {
    const list = this.#pages.get(page.inboxId) ?? [];
    this.#pages.set(
      page.inboxId,
      list.map((one) => (one.bookmark === page.bookmark ? { ...one, readAt, isUnread: false } : one)),
    );
  }

  /**
   * Lists that are walked whole were not read since their slot. Besides their own turns, their walks get the
   * share that they need of the requests for the pages of the greatest value.
   * @param requests that the walks will still cost
   */
  leaveToWalks(requests: number): void {
    this.#walks = requests;
  }

  /**
   * The page to read next; null if there is none, or if a walk needs the request more. Behind a page that was
   * not read yet may be any number of others, each of which shows itself by the one before: by their value
   * alone they would wait for weeks.
   * @param requestsUntil how many requests may be sent until an instant (epoch ms)
   * @param isExcluded true for a page that rests, or whose list is being read
   */
  next(
    moment: Moment,
    cover: Cover | null,
    requestsUntil: (at: number) => number,
    isExcluded: (page: PlannedPage) => boolean,
  ): { page: PlannedPage; why: Why } | null {
    const pages = this.all().filter((page) => !isExcluded(page));
    const best = mostValuable(pages, moment);
    if (best === null) return null;
    const unread = this.#wasUnread ? undefined : this.#nextUnread(pages, moment);
    this.#wasUnread = unread !== undefined;
    if (unread !== undefined) return { page: unread, why: 'schedule' };
    const share = cover === null ? 0 : shareOf(pages, cover, requestsUntil);
    if (cover !== null && share > 0) {
      this.#owed = Math.min(1, this.#owed + share);
      const oldest = pages.reduce((a, b) => (b.readAt < a.readAt ? b : a));
      const isCheap = oldest.readAt < cover[0].since && best.value < CHEAP * this.#usual.value;
      if (this.#owed >= 1 || isCheap) {
        this.#owed = Math.max(0, this.#owed - 1);
        return { page: oldest, why: 'schedule' };
      }
    }
    if (cover !== null && this.#isForWalk(requestsUntil(cover[0].deadline))) return null;
    this.#remember(best.value);
    return { page: best.page, why: 'value' };
  }

  /** @param until requests that may be sent until the next slot */
  #isForWalk(until: number): boolean {
    this.#owedToWalks += Math.min(MOST_FOR_WALKS, this.#walks / Math.max(1, CERTAIN * until));
    if (this.#owedToWalks < 1) return false;
    this.#owedToWalks -= 1;
    return true;
  }

  /**
   * True if the schedule needs more requests for pages than spare walks (`agenda.ts`) would leave them.
   * @param rests true for a page that cannot be read now
   */
  needsMost(
    cover: Cover | null,
    requestsUntil: (at: number) => number,
    rests: (page: PlannedPage) => boolean,
  ): boolean {
    const pages = this.all().filter((page) => !rests(page));
    return cover !== null && shareOf(pages, cover, requestsUntil) > MOST_BESIDE_SPARES;
  }

  #nextUnread(pages: readonly PlannedPage[], { now }: Moment): PlannedPage | undefined {
    const triedOf = ({ inboxId, bookmark }: PlannedPage) => {
      const tried = this.#tried.get(inboxId);
      return tried?.afterId === bookmark.afterId ? tried : undefined;
    };
    const page = pages.find((one) => one.isUnread && (triedOf(one)?.again ?? now) <= now);
    if (page === undefined) return undefined;
    const before = triedOf(page)?.waitMs ?? UNREAD_REST.firstMs / 2;
    const waitMs = Math.min(2 * before, UNREAD_REST.longestMs);
    this.#tried.set(page.inboxId, { afterId: page.bookmark.afterId, waitMs, again: now + waitMs });
    return page;
  }

  #remember(value: number): void {
    const of = Math.min(REMEMBERED, this.#usual.of + 1);
    const before = of === 1 ? value : this.#usual.value;
    const ratio = before === 0 ? 1 : Math.min(OUTLIER, Math.max(1 / OUTLIER, value / before));
    this.#usual = { value: before === 0 ? value : before * ratio ** (1 / of), of };
  }
}

function mostValuable(
  pages: readonly PlannedPage[],
  moment: Moment,
): { readonly page: PlannedPage; readonly value: number } | null {
  let best = null;
  for (const page of pages) {
    const value = valueOf(page, moment);
    if (best === null || value > best.value) best = { page, value };
  }
  return best;
}

/** The share of the requests that the schedule needs, at most 1; 0 if it needs none now. */
function shareOf(pages: readonly PlannedPage[], cover: Cover, requestsUntil: (at: number) => number): number {
  const shares = cover.map(({ since, deadline }, nth) => {
    const due = pages.filter(({ readAt }) => readAt < since).length;
    const share = due === 0 ? 0 : Math.min(1, due / Math.max(1, CERTAIN * requestsUntil(deadline)));
    return nth > 0 && share < URGENT ? 0 : share;
  });
  return Math.max(...shares);
}

/**
 * Over how many days the pages of all lists are covered, so that the budget serves more than the schedule.
 */
export function daysOfCover(pages: number, budget: Pick<Budget, 'perDay' | 'reserved'>): number {
  return Math.max(1, Math.ceil(pages / (MOST_FOR_COVER * scheduledCap(budget))));
}

/** The pages of a list with their depths, counted from the newest row, at whichever end it is. */
function plannedPages(list: readonly StoredBookmark[]): PlannedPage[] {
  const newestFirst = list[0]?.direction === 'desc' ? list : list.toReversed();
  const rows = list.reduce((sum, { kinds }) => sum + total(kinds), 0);
  let newer = 0;
  return newestFirst.map((bookmark, index) => {
    const held = total(bookmark.kinds);
    const depth = depthOf(newer + held / 2, rows);
    newer += held;
    const { inboxId, kinds, readAt } = bookmark;
    return { bookmark, inboxId, kinds, readAt, depth, isEnd: index === 0, isUnread: isUnread(bookmark) };
  });
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
