import { DAY } from '../../core/clock.ts';

/** A time in which the clocks of a zone were not set: from `startsAt` to before `endsAt`, epoch ms. */
export interface Offset {
  readonly startsAt: number;
  readonly endsAt: number;
  /** Local time minus UTC, ms. */
  readonly offsetMs: number;
}

/** The offsets of a time zone between two instants (epoch ms), in order and without gaps. */
export function offsetsBetween(timezone: string, from: number, to: number): Offset[] {
  const offsetAt = zone(timezone);
  const offsets: Offset[] = [];
  let startsAt = from;
  let offsetMs = offsetAt(from);
  for (let at = from; at < to; at += DAY) {
    const next = Math.min(at + DAY, to);
    const after = offsetAt(next);
    if (after === offsetMs) continue;
    const endsAt = firstWith(offsetAt, after, at, next);
    offsets.push({ startsAt, endsAt, offsetMs });
    startsAt = endsAt;
    offsetMs = after;
  }
  if (startsAt < to) offsets.push({ startsAt, endsAt: to, offsetMs });
  return offsets;
}

/**
 * From when an offset's local times are new, epoch ms. Before, they repeat those of the offset before it,
 * because the clocks were set back.
 * @param nth the offset's index
 */
export function newFrom(offsets: readonly Offset[], nth: number): number {
  const [before, offset] = [offsets[nth - 1], offsets[nth]];
  const startsAt = offset?.startsAt ?? 0;
  if (before === undefined || offset === undefined) return startsAt;
  return startsAt + Math.max(0, before.offsetMs - offset.offsetMs);
}

/**
 * The instant of a local time, epoch ms: the first one if the local time occurs twice, that of the clock
 * change if it is skipped; null outside of the offsets.
 * @param local the local time as if it were UTC, epoch ms
 */
export function instantOf(offsets: readonly Offset[], local: number): number | null {
  for (const { startsAt, endsAt, offsetMs } of offsets) {
    const at = Math.max(local - offsetMs, startsAt);
    if (at < endsAt) return at;
  }
  return null;
}

/** The first instant with `offset` after `before`, which has another one; `since` has it. */
function firstWith(
  offsetAt: (instant: number) => number,
  offset: number,
  before: number,
  since: number,
): number {
  let [low, high] = [before, since];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === offset) high = middle;
    else low = middle;
  }
  return high;
}

/** A function from an instant (epoch ms) to the zone's offset then (ms). */
function zone(timezone: string): (instant: number) => number {
  // The default. Other zones cost 10 ms for two years of days.
  if (timezone === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (instant) => {
    const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
    const local = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    );
    return local - Math.floor(instant / 1000) * 1000;
  };
}
