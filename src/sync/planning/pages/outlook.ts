import { type Budget, hourlyShare } from '../../../core/budget.ts';
import { HOUR, SECOND } from '../../../core/clock.ts';
import type { UnreadableRows } from '../../../mirror/bookmarks/bookmarks.ts';
import type { Mirror } from '../../../mirror/mirror.ts';
import type { Cron } from '../cron.ts';
import { besideOrders, missedUntil, paceOf, recordedPace, sentByOrders, supplyOf } from '../pace.ts';
import { intensityOf, learnActivity } from '../week/activity.ts';
import { profileOf, requestsBetween, weightsAt } from '../week/profile.ts';
import { meanDelay } from './delay.ts';
import { type Cover, coverOf, coversPerDay, PagePlan, type PlannedPage, type Why } from './plan.ts';
import { Rates } from './rates.ts';
import { Timeline } from './timeline.ts';
import { expectedRows, type Moment } from './value.ts';

/** At most this many readings are planned ahead, unless the caller wants fewer. */
const MOST_AHEAD = 1000;

/** The budgets that are compared, as multiples of the present one. */
const FACTORS = [0.5, 1, 2, 4];

/** A reading that is planned. */
export interface PlannedReading {
  /** Epoch ms. */
  readonly at: number;
  readonly inboxId: string;
  /** Its number in the list, from the newest row: 1 is the newest page. */
  readonly page: number;
  readonly pages: number;
  readonly why: Why;
  readonly ageMs: number;
  /** Changed and new rows that it will probably find. */
  readonly expected: number;
}

/** The next readings, and the worth of the budget. */
export interface Outlook {
  readonly pages: number;
  readonly rows: number;
  /**
   * The share of these rows that has probably not changed since it was read, 0 to 1. A row that could not be
   * read the last time counts as changed.
   */
  readonly current: number;
  /** Epoch ms; null without pages. */
  readonly oldestReading: number | null;
  /** The present pace, in requests an hour; that of a running daemon. */
  readonly anHour: number;
  /** Requests that a restart or an outage has left out: they are sent first, as fast as the rate allows. */
  readonly missed: number;
  /** The next readings, and how many an hour brings: only some of them may be here. */
  readonly next: readonly PlannedReading[];
  readonly inAnHour: number;
  /** When scheduled work may send again, because it has spent the day's budget; null: it may. */
  readonly spentUntil: Date | null;
  /** Requests that one reading of every page costs, over how many days it is spread, and readings a day. */
  readonly cover: { readonly requests: number; readonly days: number; readonly aDay: number };
  /** The mean delay of a change in ms for multiples of the budget, by what was learned; null: not enough. */
  readonly delays: readonly { readonly factor: number; readonly ms: number | null }[];
}

interface OutlookOptions {
  readonly budget: Budget;
  /** False: no page is read singly, also if bookmarks are left. By default true. */
  readonly readsPages?: boolean;
  readonly stretches: boolean;
  /** The schedule of conversations. */
  readonly cron: Cron;
  /** The time zone whose hours of the week the profile has learned. */
  readonly timezone: string;
  readonly now: number;
  /** When the gate opens, epoch ms: no reading is planned before. Infinity: it waits for another key. */
  readonly opensAt?: number;
  /** At most this many readings. */
  readonly most?: number;
}

type OutlookMirror = Pick<
  Mirror,
  'bookmarks' | 'rates' | 'activity' | 'budget' | 'schedules' | 'credit' | 'failingPages'
>;

/** Looks an hour ahead with what the daemon has learned. Sends no request. */
export async function readOutlook(
  mirror: OutlookMirror,
  {
    budget,
    readsPages = true,
    stretches,
    cron,
    timezone,
    now,
    opensAt = now,
    most = MOST_AHEAD,
  }: OutlookOptions,
): Promise<Outlook> {
  const activity = await learnActivity(mirror, { now, timezone });
  const timeline = new Timeline(now, timezone, intensityOf(activity));
  const rates = new Rates(await mirror.rates());
  const plan = new PagePlan();
  if (readsPages) plan.load(await mirror.bookmarks.all());
  const pages = plan.all();
  const unreadable = await mirror.bookmarks.unreadableRows();
  const schedules = await mirror.schedules.all();
  const coverWith = (some: Pick<Budget, 'perDay' | 'reserved'>): ReturnType<typeof coverOf> =>
    coverOf(schedules, pages.length, { budget: some, stretches, now });
  const { cover, days } = coverWith(budget);
  const slots = coversPerDay(cron, now);
  const window = await mirror.budget.windowByHour(now);
  const supply = supplyOf(window, budget);
  const aDay = besideOrders(budget, await sentByOrders(window, mirror.budget, now));
  const moment = { rates, timeline, now };
  const profile = profileOf(activity, meanDelay(pages, moment, hourlyShare(budget)) ?? 0);
  const credit = await mirror.credit();
  const anHour = recordedPace(credit, now) ?? paceOf(supply, weightsAt(profile, timezone, now));
  const due = credit === null ? 0 : await missedUntil(credit, mirror.budget, anHour, now);
  const missed = Math.max(0, Math.min(due, supply.left));
  // The requests that people see: the pace, rounded, and the missed ones if these are shown.
  const hours = Math.max(0, 1 - (opensAt - now) / HOUR);
  const planned = Math.round(hours * (anHour + (missed < LEAST_MISSED ? 0 : missed)));
  const inSpan = (from: number, to: number): number => requestsBetween(profile, timezone, { from, to, aDay });
  return {
    pages: pages.length,
    ...rowsOf(pages, unreadable, moment),
    oldestReading: pages.length === 0 ? null : Math.min(...pages.map(({ readAt }) => readAt)),
    anHour,
    missed,
    next: nextReadings(plan, moment, {
      cover,
      anHour,
      missed,
      perSecond: budget.perSecond,
      inSpan,
      opensAt,
      failing: await mirror.failingPages(now),
      readings: Math.min(most, planned),
    }),
    inAnHour: pages.length === 0 ? 0 : planned,
    spentUntil: supply.left > 0 ? null : await mirror.budget.leavesWindowAt(1 - supply.left, now),
    cover: { requests: pages.length, days, aDay: slots / days },
    delays: delaysOf(pages, moment, budget, (some) => (pages.length * slots) / coverWith(some).days),
  };
}

function rowsOf(
  pages: readonly PlannedPage[],
  unreadable: ReadonlyMap<string, UnreadableRows>,
  moment: Moment,
): Pick<Outlook, 'rows' | 'current'> {
  const rows = pages.reduce((sum, { kinds }) => sum + kinds.reduce((a, b) => a + b, 0), 0);
  const changed = pages.reduce((sum, page) => sum + expectedRows(page, moment), 0);
  const unread = [...new Set(pages.map(({ inboxId }) => inboxId))].reduce(
    (sum, inboxId) => sum + (unreadable.get(inboxId)?.known ?? 0),
    0,
  );
  return { rows, current: rows === 0 ? 1 : Math.max(0, 1 - (changed + unread) / rows) };
}

/** People see missed requests if there are at least this many. */
export const LEAST_MISSED = 2;

function nextReadings(
  plan: PagePlan,
  { rates, timeline }: Moment,
  ahead: {
    cover: Cover | null;
    /** The pace, in requests an hour. */
    anHour: number;
    /** Requests that are made up first, at `perSecond`. */
    missed: number;
    perSecond: number;
    /** Requests between two instants, epoch ms. */
    inSpan: (from: number, to: number) => number;
    opensAt: number;
    /** By inbox. Their pages rest; the daemon alone knows until when. */
    failing: ReadonlyMap<string, unknown>;
    readings: number;
  },
): PlannedReading[] {
  const { cover, anHour, missed, perSecond, opensAt } = ahead;
  const places = new Map<object, { page: number; pages: number }>();
  for (const list of Map.groupBy(plan.all(), ({ inboxId }) => inboxId).values())
    for (const [index, page] of list.entries())
      places.set(page.bookmark, { page: index + 1, pages: list.length });
  const readings: PlannedReading[] = [];
  for (let nth = 1; nth <= ahead.readings; nth += 1) {
    const at = opensAt + Math.max((nth * SECOND) / perSecond, ((nth - missed) * HOUR) / anHour);
    const moment = { rates, timeline, now: at };
    const next = plan.next(
      moment,
      cover,
      (until) => ahead.inSpan(at, until),
      ({ inboxId }) => ahead.failing.has(inboxId),
    );
    if (next === null) break;
    const { page, why } = next;
    const place = places.get(page.bookmark) ?? { page: 1, pages: 1 };
    const expected = expectedRows(page, moment);
    readings.push({ at, inboxId: page.inboxId, ...place, why, ageMs: at - page.readAt, expected });
    plan.touch(page, at);
  }
  return readings;
}

/**
 * The mean delays with multiples of the budget, less the requests of the schedule.
 * @param coverADay requests a day of the schedule with some budget: a smaller one spreads a cover over more
 *   days
 */
function delaysOf(
  pages: readonly PlannedPage[],
  moment: Moment,
  { perDay, reserved }: Budget,
  coverADay: (some: Pick<Budget, 'perDay' | 'reserved'>) => number,
): Outlook['delays'] {
  return FACTORS.map((factor) => {
    const some = { perDay: factor * perDay, reserved: factor * reserved };
    const hours = meanDelay(pages, moment, hourlyShare(some) - coverADay(some) / 24);
    return { factor, ms: hours === null ? null : hours * HOUR };
  });
}
