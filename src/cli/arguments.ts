import { MirrorError } from '../core/errors.ts';
import { LIST_NAMES, type ListName } from '../core/lists.ts';

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
const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A length of time as people write it: `0.5s`, `30m`, `30min`, `2h`, `7d`. @returns milliseconds; null for anything else */
function parseLength(text: string): number | null {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*(s|m|min|h|d)$/.exec(text) ?? [];
  const ms = UNITS[unit];
  return ms === undefined ? null : Number(number) * ms;
}

/** What is longer needs no limit; and a timer of Node's holds no more than 24 days. */
const LONGEST_MS = 24 * 3_600_000;

/** A length of time: `5`, `5s`, `0.5s`, `2m`, `1h`. @returns milliseconds @throws MirrorError `USAGE` */
export function parseTimeout(text: string): number {
  const ms = parseLength(/\d$/.test(text) ? `${text}s` : text);
  if (ms === null || ms < 1 || ms > LONGEST_MS)
    throw new MirrorError(
      'USAGE',
      `--timeout: expected seconds or a length of time of up to 24h, such as 5, 30s or 2m, but got ${JSON.stringify(text)}.`,
    );
  return ms;
}

/** Words of a person to list names, all of them where none is given. @throws MirrorError `USAGE` */
export function parseLists(words: readonly string[]): readonly ListName[] {
  const unknown = words.filter((word) => !LIST_NAMES.some((list) => list === word));
  if (unknown.length > 0)
    throw new MirrorError(
      'USAGE',
      `There is no list ${unknown.map((word) => `"${word}"`).join(', ')}. The lists are: ${LIST_NAMES.join(', ')}.`,
    );
  return words.length === 0 ? LIST_NAMES : LIST_NAMES.filter((list) => words.includes(list));
}
