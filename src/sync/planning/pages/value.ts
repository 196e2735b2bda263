import type { SeenRow } from '../../../mirror/bookmarks/kinds.ts';
import { AGE_EDGES, ageIndex, AGES, kindOf, NEVER } from '../../../mirror/mirror.ts';
import { type Depth, KIND_LIST, type Rates } from './rates.ts';
import type { Timeline } from './timeline.ts';

/** A page that could be read. */
export interface PageView {
  readonly inboxId: string;
  /** Rows of each kind at the last reading. */
  readonly kinds: readonly number[];
  /** Epoch ms. */
  readonly readAt: number;
  readonly depth: Depth;
  /** New rows of the list appear on it. */
  readonly isEnd: boolean;
}

/** All that the value of a reading depends on at an instant (epoch ms). */
export interface Moment {
  readonly rates: Rates;
  readonly timeline: Timeline;
  readonly now: number;
}

/**
 * The value of a reading: hours that the changes and the new rows of the page have waited since its last
 * reading, by what was learned. It is the index `w l T² / 2k` for one request and a rate l that varies.
 */
export function valueOf(view: PageView, moment: Moment): number {
  const { timeline, now } = moment;
  return summed(view, moment, (from, to) => timeline.waitingHours(from, to, now));
}

/** How many changes and new rows the page has had since its last reading, by what was learned. */
export function expectedChanges(view: PageView, moment: Moment): number {
  return summed(view, moment, (from, to) => moment.timeline.activeHours(from, to));
}

/**
 * How many rows of the page have changed or appeared since its last reading: each row counts at most once.
 */
export function expectedRows(view: PageView, moment: Moment): number {
  const hours = (from: number, to: number): number => moment.timeline.activeHours(from, to);
  return summed(view, moment, hours, (changes) => 1 - Math.exp(-changes));
}

/**
 * Sums up what each row's rate, and that of new rows, has brought since the last reading.
 * @param ofRow what the changes of one row count for
 */
function summed(
  { inboxId, kinds, readAt, depth, isEnd }: PageView,
  { rates, now }: Moment,
  hours: (from: number, to: number) => number,
  ofRow: (brought: number) => number = (brought) => brought,
): number {
  // A clock that was ahead can have read the page in the future: since then, nothing has come.
  const since = Math.min(readAt, now);
  let sum = isEnd ? rates.arrivals(inboxId) * hours(since, now) : 0;
  for (const { kind, state, age, usualMs } of KIND_LIST) {
    const rows = kinds[kind] ?? 0;
    if (rows === 0) continue;
    let brought = 0;
    for (const part of partsOf(age, since, usualMs, now))
      brought += rates.ofKind(state + part.age, depth) * hours(part.from, part.to);
    sum += rows * ofRow(brought);
  }
  return sum;
}

/**
 * Divides the time between two instants where a row passes from one age to the next. `ageMs`: its age at
 * `from`.
 */
function partsOf(
  age: number,
  from: number,
  ageMs: number,
  to: number,
): { readonly age: number; readonly from: number; readonly to: number }[] {
  if (age === NEVER) return [{ age, from, to }];
  const parts = [];
  let [at, index] = [from, age];
  for (;;) {
    const edge = AGE_EDGES[index];
    const end = edge === undefined ? to : Math.min(to, from + Math.max(0, edge - ageMs));
    parts.push({ age: index, from: at, to: end });
    if (end >= to || edge === undefined) return parts;
    [at, index] = [end, index + 1];
  }
}

/** The findings of one reading of a page. */
export interface Observed {
  readonly view: PageView;
  /** Epoch ms; see `kindOf`. */
  readonly baselineAt: number;
  /** The page's known rows, as they were before. */
  readonly before: readonly SeenRow[];
  /** How many changes each of them shows, by id; a row without one is left out. */
  readonly changes: ReadonlyMap<string, number>;
  readonly inserted: number;
}

/**
 * Learns from a reading: each row was watched since the one before, or since its last change. A row that
 * shows several changes counts for each, since all of them have waited. While a clock that was set back has
 * not caught up, the time since a reading or a change that lies in the future is unknown: it teaches nothing.
 */
export function learnFrom(
  rates: Rates,
  { view, baselineAt, before, changes, inserted }: Observed,
  { timeline, now }: { timeline: Timeline; now: number },
): void {
  const seen = new Map<number, { events: number; hours: number }>();
  const at = (kind: number): { events: number; hours: number } => {
    const found = seen.get(kind) ?? { events: 0, hours: 0 };
    seen.set(kind, found);
    return found;
  };
  if (view.readAt > now) return;
  for (const row of before) {
    if (row.changedAt > now) continue;
    const from = Math.max(view.readAt, row.changedAt);
    const events = changes.get(row.id) ?? 0;
    // A row that changed did so somewhere in between: in the middle, on average.
    const to = events > 0 ? (from + now) / 2 : now;
    const kind = kindOf(row, { at: from, baselineAt });
    const state = kind - (kind % AGES);
    for (const part of partsOf(kind % AGES, from, from - row.changedAt, to))
      at(state + part.age).hours += timeline.activeHours(part.from, part.to);
    if (events > 0) at(kind % AGES === NEVER ? kind : state + ageIndex(to - row.changedAt)).events += events;
  }
  for (const [kind, counts] of seen) rates.learnKind(kind, view.depth, counts, now);
  if (view.isEnd)
    rates.learnArrivals(
      view.inboxId,
      { events: inserted, hours: timeline.activeHours(view.readAt, now) },
      now,
    );
}

/** Rows of a list that count as newest, and the share of it that counts as new. */
const NEWEST_ROWS = 100;
const NEW_SHARE = 0.05;

/** The depth of a page, by the rows of its list that are newer than its middle. */
export function depthOf(newer: number, rows: number): Depth {
  if (newer < NEWEST_ROWS) return 'newest';
  return newer < NEW_SHARE * rows ? 'new' : 'old';
}
