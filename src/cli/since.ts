import { MirrorError } from '../core/errors.ts';

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** A date, an instant, or a length of time ago (`30m`, `2h`, `7d`). Without a zone, UTC. @throws MirrorError `USAGE` */
export function parseSince(text: string, now: number): Date {
  const ago = /^(\d+)\s*(s|m|min|h|d)$/.exec(text);
  const before = ago === null ? null : now - Number(ago[1]) * (UNITS[ago[2] ?? ''] ?? 0);
  // Longer ago than a date can be is since ever.
  if (before !== null) return new Date(Math.max(0, before));
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
