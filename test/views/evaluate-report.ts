import type { StatusMeanings } from '../../src/core/lists.ts';
import type { OfficeHours } from '../../src/mirror/settings/office.ts';

/** What a status means by the settings; statuses here have small letters. */
export function meaningOf(
  { final, waiting }: StatusMeanings,
  status: string | null,
): 'final' | 'waiting' | 'open' | 'other' {
  if (final.includes(status ?? '')) return 'final';
  if (waiting.includes(status ?? '')) return 'waiting';
  return status === 'open' ? 'open' : 'other';
}

/** Offsets and office hours begin and end at quarters of an hour. */
const CELL_MS = 15 * 60_000;

/**
 * A function that counts the office hours between two instants of a period (epoch ms), in ms. It asks the
 * wall clock of each quarter of an hour, and knows no days and no offsets.
 */
export function officeClock(
  { timezone, week }: OfficeHours,
  from: number,
  to: number,
): (from: number, to: number) => number {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
  const cells: number[] = [];
  for (let at = Math.floor(from / CELL_MS) * CELL_MS; at < to; at += CELL_MS) {
    const [weekday = '', hour = '', minute = ''] = format.format(at).split(/[^\p{L}\d]+/u);
    const spans = week[['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].indexOf(weekday)] ?? [];
    const time = Number(hour) * 60 + Number(minute);
    if (spans.some(([begin, end]) => begin <= time && time < end)) cells.push(at);
  }
  return (begin, end) =>
    cells.reduce((sum, at) => sum + Math.max(0, Math.min(end, at + CELL_MS) - Math.max(begin, at)), 0);
}
