import { createTask, parse, type ScheduledTask } from 'node-cron';
import { DAY, HOUR, MINUTE, SECOND } from '../../core/clock.ts';
import { MirrorError } from '../../core/errors.ts';
import type { ListName } from '../../core/lists.ts';
import { newFrom, offsetsBetween } from '../../mirror/mirror.ts';
import type { Offset } from '../../mirror/settings/offsets.ts';
import type { SlotPattern } from '../../mirror/settings/slots.ts';

/** A schedule's slots, by the wall clock of its time zone. */
export interface Cron extends SlotPattern {
  /**
   * The first slot after an instant; both epoch ms.
   * @throws MirrorError `CONFIG` if summer time skips every slot
   */
  next(after: number): number;
  /**
   * The first slot after an instant that counts for a promise. Of a local time that occurs twice, because the
   * clocks are set back, the first slot counts. Otherwise a daily promise would last a day less that night.
   * @throws MirrorError as `next` does
   */
  nextCounted(after: number): number;
}

/** Each zone differs from UTC by a multiple of 15 minutes, so each zone's hours begin at a UTC quarter. */
const QUARTER_MS = 15 * MINUTE;

/** Shorter than any day, since the shortest has 23 hours. */
const NEARLY_A_DAY_MS = 20 * HOUR;

/** The search tests at most every 6 hours whether it can skip days: one test costs as much as a quarter. */
const DAY_TEST_EVERY_MS = 6 * HOUR;

/** The rarest slot is a 29 February that falls on a given weekday: at most 40 years away. */
const FARTHEST_MS = 41 * 366 * DAY;

/** Each schedule remembers the answers of its last 64 searches. */
const REMEMBERED = 64;

/** At most this many slots are remembered by the slot before: forecasts walk along the same hundreds. */
const MOST_LINKED = 1000;

/**
 * The slots of a schedule. node-cron reads the expression and tests instants. This file searches for the next
 * slot (docs/decisions/0001): node-cron 4.6 searches from the machine's clock only, and omits the repeated
 * hour of the day on which the clock is set back.
 * @param expression five fields, or six with seconds; checked by `readConfig`
 */
export function cronOf(expression: string, timezone: string): Cron {
  const name = `${timezone} ${expression}`;
  const cron = crons.get(name) ?? createCron(expression, timezone);
  crons.set(name, cron);
  return cron;
}

/** The slots of each kind of list. @param schedules cron expressions, checked */
export function cronsOf(
  schedules: Readonly<Record<ListName, string>>,
  timezone: string,
): Record<ListName, Cron> {
  const of = (list: ListName): Cron => cronOf(schedules[list], timezone);
  return { inboxes: of('inboxes'), users: of('users'), tags: of('tags'), conversations: of('conversations') };
}

/** One object for each schedule, so that all callers share what it remembers. */
const crons = new Map<string, Cron>();

function createCron(expression: string, timezone: string): Cron {
  const fields = expression.trim().split(/\s+/);
  const [seconds, minutes, ...rest] = fields.length === 5 ? ['0', ...fields] : fields;
  const task = (...parts: (string | undefined)[]): ScheduledTask =>
    createTask(parts.join(' '), () => undefined, { timezone });
  const slot = task(seconds, minutes, ...rest);
  const hour = task('*', '*', ...rest);
  const day = task('*', '*', '*', ...rest.slice(1));
  const parsed = parse([seconds, minutes, ...rest].join(' '));
  /** Milliseconds from the start of a quarter at which a slot can be. */
  const offsets = [
    ...new Set(
      parsed.minute.flatMap((minute) =>
        parsed.second.map((second) => (minute % 15) * MINUTE + second * SECOND),
      ),
    ),
  ].sort((a, b) => a - b);

  function search(after: number): number {
    const first = floorTo(after, QUARTER_MS);
    for (let quarter = first; quarter < after + FARTHEST_MS; quarter += QUARTER_MS) {
      // No whole day fits between two instants 20 hours apart. If the schedule excludes the days of both,
      // there is no slot between them.
      if (quarter === first || quarter % DAY_TEST_EVERY_MS === 0) {
        while (
          !day.match(new Date(quarter)) &&
          !day.match(new Date(quarter + NEARLY_A_DAY_MS)) &&
          quarter < after + FARTHEST_MS
        )
          quarter += NEARLY_A_DAY_MS;
      }
      // Skip a quarter of an hour that the schedule excludes. With one offset this test would save nothing.
      if (offsets.length > 1 && !hour.match(new Date(quarter))) continue;
      const found = offsets
        .map((offset) => quarter + offset)
        .find((at) => at > after && slot.match(new Date(at)));
      if (found !== undefined) return found;
    }
    throw noSlot(expression, timezone);
  }

  const next = remembering(search);
  /** The zone's offsets on the UTC day of a slot and the day before it, by the day's midnight. */
  const zoneOffsets = new Map<number, readonly Offset[]>();
  const nextCounted = remembering((after) => {
    const found = next(after);
    const midnight = floorTo(found, DAY);
    const around = zoneOffsets.get(midnight) ?? offsetsBetween(timezone, midnight - DAY, midnight + DAY);
    if (zoneOffsets.size >= REMEMBERED) zoneOffsets.clear();
    zoneOffsets.set(midnight, around);
    const nth = around.findLastIndex(({ startsAt }) => startsAt <= found);
    const countsFrom = newFrom(around, nth);
    return found < countsFrom ? nextCounted(countsFrom - 1) : found;
  });
  return { expression, timezone, ...timesOf(parsed, rest.slice(1)), next, nextCounted };
}

/** The search for a slot after an instant, whose newest answers are remembered. */
function remembering(search: (after: number) => number): (after: number) => number {
  const known: { after: number; next: number }[] = [];
  const linked = new Map<number, number>();
  return (after) => {
    const remembered =
      linked.get(after) ?? known.find((span) => span.after <= after && after < span.next)?.next;
    if (remembered !== undefined) return remembered;
    const next = search(after);
    known.unshift({ after, next });
    known.length = Math.min(known.length, REMEMBERED);
    linked.set(after, next);
    if (linked.size > MOST_LINKED) linked.delete(linked.keys().next().value ?? 0);
    return next;
  };
}

function noSlot(expression: string, timezone: string): MirrorError {
  return new MirrorError(
    'CONFIG',
    `The schedule \`${expression}\` has no slot in the time zone ${timezone}: summer time skips ` +
      'all of them. Set the SCHEDULE_ variable that holds it to another hour.',
  );
}

/** @param dates the fields of the day of the month, the month and the day of the week */
function timesOf(
  { second, minute, hour, dayOfMonth, month, dayOfWeek }: ReturnType<typeof parse>,
  dates: readonly string[],
): Pick<SlotPattern, 'secondsOfDay' | 'isDay'> {
  const isDaily = dayOfMonth.length === 31 && month.length === 12 && dayOfWeek.length === 7;
  const date = createTask(['* * *', ...dates].join(' '), () => undefined, { timezone: 'UTC' });
  return {
    secondsOfDay() {
      const times = hour.flatMap((h) => minute.flatMap((m) => second.map((s) => (h * 60 + m) * 60 + s)));
      return [...new Set(times)].sort((a, b) => a - b);
    },
    isDay: (day) => isDaily || date.match(new Date(day)),
  };
}

function floorTo(instant: number, step: number): number {
  return Math.floor(instant / step) * step;
}

/** Slots a day are an average over the next 28 days. */
const DAYS_COUNTED = 28;

/** Slots a day, on average over the next weeks. A day of 23 or 25 hours counts like any other. */
export function slotsPerDay(cron: Cron, now: number): number {
  const today = floorTo(now, DAY);
  const days = Array.from({ length: DAYS_COUNTED }, (_, nth) => today + (nth + 1) * DAY);
  return (cron.secondsOfDay().length * days.filter((day) => cron.isDay(day)).length) / DAYS_COUNTED;
}
