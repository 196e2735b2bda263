import { HOUR } from '../../core/clock.ts';
import { LIST_NAMES, type ListName } from '../../core/lists.ts';
import type { Schedule, Schedules } from '../../mirror/schedules.ts';
import type { Cron } from './cron.ts';

/** A long absence is one missed slot; which of thousands was the last need not be known to the second. */
const SLOTS_LOOKED_AT = 1000;
const LONG_AGO = 8000 * HOUR;

/**
 * Notes in SQL which kinds of list have become due by `now` (epoch ms). A slot that passed while nobody looked is made good once; a schedule that
 * is different is due at its next slot, and one that is new has been due since its last: what a command has read since then is not read again.
 * @returns whether any became due
 */
export async function markDue(
  schedules: Pick<Schedules, 'all' | 'write'>,
  crons: Readonly<Record<ListName, Cron>>,
  now: number,
): Promise<boolean> {
  const known = new Map((await schedules.all()).map((schedule) => [schedule.list, schedule]));
  let due = false;
  for (const list of LIST_NAMES) {
    const before = known.get(list) ?? null;
    const after = scheduleAt(list, before, crons[list], now);
    if (after === before) continue;
    await schedules.write(after);
    due ||= after.dueSince?.getTime() !== before?.dueSince?.getTime();
  }
  return due;
}

/** The schedule as it stands at `now`; the very same object where nothing is different. */
function scheduleAt(list: ListName, before: Schedule | null, cron: Cron, now: number): Schedule {
  const { expression, timezone } = cron;
  const nextAt = new Date(cron.next(now));
  if (before === null) return { list, expression, timezone, nextAt, ...slotsBefore(cron, now) };
  const same = before.expression === expression && before.timezone === timezone;
  if (same && before.nextAt.getTime() <= now)
    return { ...before, nextAt, ...lastSlots(cron, before.nextAt.getTime(), before.dueSince, now) };
  // Due in the future, or at a slot beyond the next one: the work of a clock that was ahead.
  const dueSince = notAfter(now, before.dueSince);
  if (same && dueSince === before.dueSince && before.nextAt.getTime() <= nextAt.getTime()) return before;
  return { list, expression, timezone, nextAt, dueSince, dueBefore: notAfter(now, before.dueBefore) };
}

function notAfter(now: number, slot: Date | null): Date | null {
  return slot !== null && slot.getTime() > now ? new Date(now) : slot;
}

type LastSlots = Pick<Schedule, 'dueSince' | 'dueBefore'>;

/** The last two slots up to `now`, or where the schedule has had none for ages an instant of long ago. */
function slotsBefore(cron: Cron, now: number): LastSlots {
  let back = HOUR;
  while (back < LONG_AGO && cron.next(cron.next(now - back)) > now) back *= 2;
  const longAgo = new Date(now - back);
  const first = cron.next(now - back);
  return first > now ? { dueSince: longAgo, dueBefore: longAgo } : lastSlots(cron, first, longAgo, now);
}

/** From the slot `first` on, which `before` preceded. */
function lastSlots(cron: Cron, first: number, before: Date | null, now: number): LastSlots {
  let slots = { dueSince: new Date(first), dueBefore: before };
  for (let looked = 0; looked < SLOTS_LOOKED_AT; looked += 1) {
    const next = cron.next(slots.dueSince.getTime());
    if (next > now) break;
    slots = { dueSince: new Date(next), dueBefore: slots.dueSince };
  }
  return slots;
}
