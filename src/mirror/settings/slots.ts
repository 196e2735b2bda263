import { DAY, HOUR, MINUTE, SECOND } from '../../core/clock.ts';
import { LIST_NAMES, type ListName } from '../../core/lists.ts';
import type { Database } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { readCoverDays } from '../bookmarks/rounds.ts';
import { newFrom, type Offset, offsetsBetween } from './offsets.ts';
import { readSetting, writeSetting } from './settings.ts';

/** A schedule: which days of its time zone have slots, and when. */
export interface SlotPattern {
  readonly expression: string;
  readonly timezone: string;
  /** The local times of slots, ascending, in seconds since local midnight. */
  secondsOfDay(): number[];
  /** True if the day has slots. @param day local midnight as if it were UTC, epoch ms */
  isDay(day: number): boolean;
}

/** Slots at equal distances: the first and the last one (epoch ms), and the ms from each to the next. */
export interface SlotSeries {
  readonly startsAt: number;
  readonly endsAt: number;
  readonly stepMs: number;
}

/** The setting that holds which slots the table `schedule_slots` has. */
const NAME = 'schedule_slots';

/** `since` and `until`: the instants (epoch ms) at which the view `freshness` can count with these slots. */
interface Kept {
  readonly schedules: string;
  readonly since: number;
  readonly until: number;
}

/** Slots are written this many ms ahead, and again when fewer than `ENOUGH_AHEAD_MS` are left. */
const AHEAD_MS = 400 * DAY;
const ENOUGH_AHEAD_MS = 366 * DAY;

/** A clock may be set back by this many ms before the slots are written again. */
const BACK_MS = 7 * DAY;

/** The search for two earlier slots doubles its span from this many ms. */
const FIRST_SEARCH_MS = 8 * DAY;

/** The rarest slot is a 29 February on a given weekday: two of them are at most 80 years away. */
const LONGEST_SEARCH_MS = 82 * 366 * DAY;

/**
 * Writes the slots of the schedules for the view `freshness`. If they are up to date, it costs two queries.
 * The slots begin two before the grace of conversations: a list that is older than those has missed both.
 * @param now epoch ms
 */
export async function keepSlots(
  database: Database,
  schedules: Readonly<Record<ListName, SlotPattern>>,
  now: number,
): Promise<void> {
  const names = LIST_NAMES.map((list) => [list, schedules[list].expression, schedules[list].timezone]);
  // Earlier versions wrote the second slot of a repeated local time too, under the names alone.
  const wanted = JSON.stringify({ names, repeats: false });
  const stored = await readSetting(database, NAME);
  const kept = stored === null ? null : (JSON.parse(stored) as Kept);
  const graceMs = ((await readCoverDays(database)) - 1) * DAY;
  const isCovered = kept !== null && kept.since <= now - graceMs && kept.until >= now + ENOUGH_AHEAD_MS;
  if (isCovered && kept.schedules === wanted) return;
  const [since, until] = [now - 2 * graceMs - BACK_MS, now + AHEAD_MS];
  const known = new Map<string, Offset[]>();
  const offsetsFrom: OffsetsFrom = (timezone, from) => {
    const name = `${timezone} ${from}`;
    const offsets = known.get(name) ?? offsetsBetween(timezone, from, until);
    known.set(name, offsets);
    return offsets;
  };
  const rows = LIST_NAMES.flatMap((list) =>
    seriesSince(schedules[list], since, offsetsFrom).map(({ startsAt, endsAt, stepMs }) => ({
      list,
      starts_at: iso(startsAt),
      ends_at: iso(endsAt),
      step_seconds: stepMs / SECOND,
    })),
  );
  const columns = {
    list: 'text',
    starts_at: 'instant',
    ends_at: 'instant',
    step_seconds: 'integer',
  } as const;
  await database.transaction(async (tx) => {
    // First: two processes that replace the slots at once take turns here.
    await writeSetting(tx, NAME, JSON.stringify({ schedules: wanted, since, until } satisfies Kept));
    await tx.execute('DELETE FROM schedule_slots');
    await tx.execute(
      `INSERT INTO schedule_slots (list, starts_at, ends_at, step_seconds)
       SELECT list, starts_at, ends_at, step_seconds
       FROM ${database.dialect.records('$1', columns, 'written')}`,
      JSON.stringify(rows),
    );
  });
}

/** The offsets of a time zone from an instant (epoch ms) on. */
type OffsetsFrom = (timezone: string, from: number) => Offset[];

/** The slots from at least two before `since` (epoch ms) on, if there are two. */
function seriesSince(pattern: SlotPattern, since: number, offsetsFrom: OffsetsFrom): SlotSeries[] {
  for (let back = FIRST_SEARCH_MS; ; back *= 2) {
    const series = slotSeries(pattern, offsetsFrom(pattern.timezone, since - back));
    if (back > LONGEST_SEARCH_MS || slotsBefore(series, since) >= 2) return series;
  }
}

function slotsBefore(series: readonly SlotSeries[], instant: number): number {
  const counts = series
    .filter(({ startsAt }) => startsAt < instant)
    .map(
      ({ startsAt, endsAt, stepMs }) => Math.floor((Math.min(endsAt, instant - 1) - startsAt) / stepMs) + 1,
    );
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * The slots of a schedule within the offsets of its time zone, as few series. They may overlap. A local time
 * that occurs twice has one slot, the first: see `Cron.nextCounted`.
 */
function slotSeries(pattern: SlotPattern, offsets: readonly Offset[]): SlotSeries[] {
  const ofDay = seriesOfDay(pattern.secondsOfDay());
  const found: { startsAt: number; endsAt: number; stepMs: number }[] = [];
  /** The series that ends one step before an instant: one that begins there continues it. */
  const open = new Map<string, (typeof found)[number]>();
  for (const [nth, { endsAt: to, offsetMs }] of offsets.entries()) {
    const from = newFrom(offsets, nth);
    const firstDay = Math.floor((from + offsetMs) / DAY) * DAY;
    for (let day = firstDay; day < to + offsetMs; day += DAY) {
      if (!pattern.isDay(day)) continue;
      for (const local of ofDay) {
        const part = within(local, day - offsetMs, { from, to });
        if (part === null) continue;
        const { startsAt, endsAt, stepMs } = part;
        const before = open.get(`${startsAt} ${stepMs}`);
        const series = before ?? { startsAt, endsAt, stepMs };
        if (before === undefined) found.push(series);
        else open.delete(`${startsAt} ${stepMs}`);
        series.endsAt = endsAt;
        open.set(`${endsAt + stepMs} ${stepMs}`, series);
      }
    }
  }
  return found;
}

/** A day's series from an instant on, without its slots outside of a span; null if none is inside. */
function within(
  { startsAt, endsAt, stepMs }: SlotSeries,
  midnight: number,
  { from, to }: { from: number; to: number },
): SlotSeries | null {
  const [first, last] = [midnight + startsAt, midnight + endsAt];
  const start = first + Math.max(0, Math.ceil((from - first) / stepMs)) * stepMs;
  const end = last - Math.max(0, Math.ceil((last - (to - 1)) / stepMs)) * stepMs;
  return start > end ? null : { startsAt: start, endsAt: end, stepMs };
}

/**
 * The times of a day as few series, in ms since midnight. Slots at `0,20,45` of each hour are three series,
 * one for each minute; slots every 7 seconds of a minute are nine.
 */
function seriesOfDay(seconds: readonly number[]): SlotSeries[] {
  const ways = [SECOND, MINUTE, HOUR].map((modulus) =>
    [...Map.groupBy(seconds, (second) => (second * SECOND) % modulus).values()].flatMap(equalSteps),
  );
  return ways.reduce((best, way) => (way.length < best.length ? way : best));
}

/** Ascending times as series of equal steps, each as long as it can be. A single time recurs daily. */
function equalSteps(seconds: readonly number[]): SlotSeries[] {
  const series: SlotSeries[] = [];
  for (let index = 0; index < seconds.length;) {
    const first = seconds[index] ?? 0;
    const step = (seconds[index + 1] ?? first) - first;
    let last = index;
    while (seconds[last + 1] === first + (last + 1 - index) * step) last += 1;
    const stepMs = step === 0 ? DAY : step * SECOND;
    series.push({ startsAt: first * SECOND, endsAt: (first + (last - index) * step) * SECOND, stepMs });
    index = last + 1;
  }
  return series;
}
