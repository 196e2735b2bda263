import { MirrorError } from '../core/errors.ts';
import { parseLength } from './lengths.ts';

/** A date, an instant, or a length of time ago (`30m`, `2h`, `7d`). Without a zone, UTC. @throws MirrorError `USAGE` */
export function parseSince(text: string, now: number): Date {
  const ago = parseLength(text);
  // Longer ago than a date can be is since ever.
  if (ago !== null) return new Date(Math.max(0, now - ago));
  if (/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/.test(text)) {
    const instant = text.replace(' ', 'T');
    const date = new Date(/T.*(Z|[+-]\d{2}:?\d{2})$|^.{10}$/.test(instant) ? instant : `${instant}Z`);
    if (!Number.isNaN(date.getTime()) && isInCalendar(text.slice(0, 10))) return date;
  }
  throw new MirrorError(
    'USAGE',
    `--since: expected a date, an instant or a length of time, such as 2026-11-21, 2026-11-21T08:00:00Z or 2h, but got ${JSON.stringify(text)}.`,
  );
}

/** JavaScript takes 30 February for the second of March. */
function isInCalendar(day: string): boolean {
  return new Date(day).toISOString().startsWith(day);
}
