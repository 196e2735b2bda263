import { type Budget, hourlyShare, scheduledCap } from '../../src/core/budget.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/clock.ts';
import { Timeline } from '../../src/sync/planning/pages/timeline.ts';
import { intensityOf } from '../../src/sync/planning/week/activity.ts';
import { profileOf } from '../../src/sync/planning/week/profile.ts';
import { localTime } from '../../src/sync/planning/week/week.ts';
import { mean } from '../figures.ts';
import { START } from './account.ts';
import type { KnownRates } from './rates.ts';
import { type Measured, type Outcome, Staleness } from './staleness.ts';
import { PAGE, type Trace } from './trace.ts';

/** The account as a simulated policy sees it. */
interface View {
  /** Conversations in each inbox now. */
  readonly lengths: readonly number[];
  /** Changes a day in each inbox, on average. */
  readonly rates: readonly number[];
}

/** A request: rows `from` (included) to `to` (not included) of an inbox, at an instant. */
interface Read {
  readonly at: number;
  readonly inbox: number;
  readonly from: number;
  readonly to: number;
}

/** Names the request after the one before, which was at `now`. */
type Policy = (view: View, now: number) => Read;

/** Makes the policies that are simulated; every request of scheduled work reads conversations. */
export const SIMULATED: Readonly<Record<string, (budget: Budget, rates: KnownRates) => Policy>> = {
  'whole lists, as fast as allowed': (budget) => wholeListsUnpaced(scheduledCap(budget)),
  'whole lists, paced': (budget) => wholeListsPaced(DAY / scheduledCap(budget)),
  'newest pages and a daily walk': (budget) => newestAndWalk(DAY / scheduledCap(budget)),
  'pages without learning': (budget) => pagesInTurn(DAY / scheduledCap(budget)),
  'pages with known rates': (budget, rates) => pagesByKnownRates(hourlyShare(budget), rates),
};

/** Simulates a policy on a trace, request by request. The mirror is complete at the start. */
export function simulate(policy: Policy, trace: Trace, measured: Measured, until: number): Outcome {
  const lengths = [...trace.sizes];
  const total = trace.sizes.reduce((sum, size) => sum + size, 0);
  const view = { lengths, rates: dailyChanges(trace) };
  const staleness = new Staleness(measured, total);
  const unread = trace.sizes.map(() => new Map<number, Set<number>>());
  const byHour = Array.from({ length: (measured.until - measured.from) / HOUR }, () => 0);
  let next = 0;
  for (let read = policy(view, START); read.at < until; read = policy(view, read.at)) {
    const { at, inbox, from, to } = read;
    for (let change = trace.changes[next]; change !== undefined && change.at <= at;) {
      if (change.kind === 'open') lengths[change.inbox]! += 1;
      staleness.changed(`${change.inbox}/${change.row}`, change.at, change.kind === 'open');
      const pages = unread[change.inbox]!;
      const page = Math.floor(change.row / PAGE);
      pages.set(page, (pages.get(page) ?? new Set()).add(change.row));
      change = trace.changes[(next += 1)];
    }
    for (let page = Math.floor(from / PAGE); page * PAGE < to; page += 1)
      for (const row of unread[inbox]!.get(page) ?? [])
        if (row >= from && row < to) {
          staleness.read(`${inbox}/${row}`, at);
          unread[inbox]!.get(page)!.delete(row);
        }
    if (at >= measured.from && at < measured.until) byHour[Math.floor((at - measured.from) / HOUR)]! += 1;
  }
  const { delays } = staleness;
  const currentShare = staleness.currentShare();
  return { delays, unread: staleness.unread, currentShare, byHour, violations: null };
}

function dailyChanges({ sizes, changes }: Trace): number[] {
  const rates = sizes.map(() => 0);
  const days = ((changes.at(-1)?.at ?? START) - START) / DAY;
  for (const { inbox } of changes) rates[inbox]! += 1 / days;
  return rates;
}

function pageOf(at: number, inbox: number, page: number): Read {
  return { at, inbox, from: page * PAGE, to: (page + 1) * PAGE };
}

function pagesIn(length: number): number {
  return Math.max(1, Math.ceil(length / PAGE));
}

/** All pages, inbox by inbox, again and again. */
function walker(): (view: View, at: number) => Read {
  let [inbox, page] = [0, 0];
  return ({ lengths }, at) => {
    if (page >= pagesIn(lengths[inbox]!)) [inbox, page] = [(inbox + 1) % lengths.length, 0];
    page += 1;
    return pageOf(at, inbox, page - 1);
  };
}

/**
 * All lists are due every 15 minutes and are read one after the other, one page a second, until the last 24
 * hours hold the budget.
 */
function wholeListsUnpaced(perDay: number): Policy {
  const walk = walker();
  const sent: number[] = [];
  let passEnds: number | null = null;
  return (view, now) => {
    const isFirst = sent.length === 0;
    let at = isFirst ? now : now + SECOND;
    if (passEnds === sent.length) at = Math.max(at, Math.ceil(now / (15 * MINUTE)) * 15 * MINUTE);
    if (passEnds === null || passEnds === sent.length)
      passEnds = sent.length + view.lengths.reduce((sum, length) => sum + pagesIn(length), 0);
    const oldest = sent[sent.length - perDay];
    if (oldest !== undefined) at = Math.max(at, oldest + DAY);
    sent.push(at);
    return walk(view, at);
  };
}

/** One list after the other at an even pace: the list in which most waits for its cost (decision 0002). */
function wholeListsPaced(gap: number): Policy {
  const readAt: number[] = [];
  let [inbox, page] = [-1, 0];
  const value = ({ lengths, rates }: View, of: number, at: number): number =>
    (rates[of]! * (at - (readAt[of] ?? START)) ** 2) / pagesIn(lengths[of]!);
  return (view, now) => {
    const at = now + gap;
    if (inbox === -1 || page >= pagesIn(view.lengths[inbox]!)) {
      inbox = 0;
      for (const other of view.lengths.keys())
        if (value(view, other, at) > value(view, inbox, at)) inbox = other;
      page = 0;
      readAt[inbox] = at;
    }
    page += 1;
    return pageOf(at, inbox, page - 1);
  };
}

/** One walk over all pages a day; every other request reads the newest 100 rows of the next inbox in turn. */
function newestAndWalk(gap: number): Policy {
  const walk = walker();
  let [inbox, credit] = [0, 0];
  return (view, now) => {
    const at = now + gap;
    credit += (view.lengths.reduce((sum, length) => sum + pagesIn(length), 0) * gap) / DAY;
    if (credit >= 1) {
      credit -= 1;
      return walk(view, at);
    }
    inbox = (inbox + 1) % view.lengths.length;
    const to = view.lengths[inbox]!;
    return { at, inbox, from: Math.max(0, to - PAGE), to };
  };
}

/** Half of the requests read the page that was read longest ago, half the growing ends in turn. */
function pagesInTurn(gap: number): Policy {
  const walk = walker();
  let [inbox, isEnd] = [0, false];
  return (view, now) => {
    const at = now + gap;
    isEnd = !isEnd;
    if (!isEnd) return walk(view, at);
    inbox = (inbox + 1) % view.lengths.length;
    return pageOf(at, inbox, pagesIn(view.lengths[inbox]!) - 1);
  };
}

/**
 * The planner's index and pace with the true rates in place of learned ones, and without what a change that
 * was seen tells of the next one.
 * @param requests an hour, on average
 */
function pagesByKnownRates(requests: number, { shares, hourly }: KnownRates): Policy {
  const week = Array.from({ length: 7 }, (_, day) => (day < 5 ? hourly.working : hourly.weekend)).flat();
  const activity = { changes: week.map((changes) => 4 * changes), times: week.map(() => 4) };
  const roots = shares.flat().reduce((sum, share) => sum + Math.sqrt(share), 0);
  const weights = profileOf(activity, roots ** 2 / (2 * requests));
  // The floor of the profile makes the mean of a day greater than 1.
  const pace = weights.map((weight, hour) => {
    const day = Math.floor(hour / 24) * 24;
    return (requests * weight) / mean(weights.slice(day, day + 24));
  });
  const timeline = new Timeline(START, 'UTC', intensityOf(activity));
  const local = localTime('UTC');
  const readAt = shares.map(() => [] as number[]);
  return ({ lengths }, now) => {
    const at = now + Math.max(SECOND, HOUR / pace[local(now).hourOfWeek]!);
    let [most, inbox, page] = [-1, 0, 0];
    for (const [nth, ofPages] of shares.entries()) {
      const pages = pagesIn(lengths[nth]!);
      for (let distance = 0; distance < pages; distance += 1) {
        const before = readAt[nth]![pages - 1 - distance] ?? START;
        const share = ofPages[distance] ?? ofPages.at(-1) ?? 0;
        const value = share * timeline.waitingHours(before, at, at);
        if (value > most) [most, inbox, page] = [value, nth, pages - 1 - distance];
      }
    }
    readAt[inbox]![page] = at;
    return pageOf(at, inbox, page);
  };
}
