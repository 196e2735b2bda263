import { DAY } from '../core/clock.ts';
import { MirrorError } from '../core/errors.ts';
import { parseLength, thousands } from '../core/humanize.ts';
import { LIST_NAMES, type ListName } from '../core/lists.ts';
import type { Format } from './options.ts';

/**
 * Parses a date, an instant, `today`, `yesterday`, or a length of time ago (`30m`, `2h`, `3days ago`). Days
 * and instants without a zone are UTC.
 * @param option for the message
 * @throws MirrorError `USAGE`
 */
export function parseSince(text: string, now: number, option = '--since'): Date {
  const midnight = now - (now % DAY);
  if (text === 'today') return new Date(midnight);
  if (text === 'yesterday') return new Date(midnight - DAY);
  const ago = parseLength(text.replace(/ ago$/, ''));
  // A length of time that reaches back before 1970 means 1970.
  if (ago !== null) return new Date(Math.max(0, now - ago));
  if (/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/.test(text)) {
    const instant = text.replace(' ', 'T');
    const date = new Date(/T.*(Z|[+-]\d{2}:?\d{2})$|^.{10}$/.test(instant) ? instant : `${instant}Z`);
    if (!Number.isNaN(date.getTime()) && isInCalendar(text.slice(0, 10))) return date;
  }
  throw new MirrorError(
    'USAGE',
    `${option}: expected a date, an instant or a length of time, ` +
      `such as 2026-11-21, 2026-11-21T08:00:00Z, yesterday or 2h, but got ${JSON.stringify(text)}.`,
  );
}

/** False for 30 February, which JavaScript would read as 2 March. */
function isInCalendar(day: string): boolean {
  return new Date(day).toISOString().startsWith(day);
}

/** The longest `--timeout`: one day. A timer of Node.js holds at most 24 days. */
const LONGEST_TIMEOUT_MS = DAY;

/** Parses `5`, `5s`, `0.5s`, `2m` or `1h`. @returns milliseconds @throws MirrorError `USAGE` */
export function parseTimeout(text: string): number {
  const ms = parseLength(/\d$/.test(text) ? `${text}s` : text);
  if (ms === null || ms < 1 || ms > LONGEST_TIMEOUT_MS)
    throw new MirrorError(
      'USAGE',
      '--timeout: expected seconds or a length of time of up to 24h, ' +
        `such as 5, 30s or 2m, but got ${JSON.stringify(text)}.`,
    );
  return ms;
}

/** Parses digits, not only zeros. @throws MirrorError `USAGE`, which names the option */
export function positiveNumber(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new MirrorError('USAGE', `${name}: expected a whole number, but got ${JSON.stringify(text)}.`);
  const number = Number(text);
  if (number === 0) throw new MirrorError('USAGE', `${name}: expected 1 or more, but got 0.`);
  return number;
}

/** Refuses `--json` beside another format. @throws MirrorError `USAGE` */
export function refuseTwoFormats({
  json,
  format,
}: {
  readonly json?: boolean;
  readonly format: Format;
}): void {
  if (json === true && format !== 'json')
    throw new MirrorError('USAGE', `--json and --format ${format} contradict each other. Use one of them.`);
}

/** At most this many rows in a table: all are in memory while it is laid out. */
export const MOST_TABLE_ROWS = 10_000;

/** Parses the `--limit` of rows in a format. @throws MirrorError `USAGE` */
export function parseLimit(text: string, format: Format): number {
  const limit = positiveNumber('--limit', text);
  if (format === 'table' && limit > MOST_TABLE_ROWS)
    throw new MirrorError(
      'USAGE',
      `--limit: a table has at most ${thousands(MOST_TABLE_ROWS)} rows, but got ${text}. ` +
        'Print more with --format csv, json or ndjson.',
    );
  return limit;
}

/**
 * Checks the names of lists, and returns them in the order of {@link LIST_NAMES}. No name means all lists.
 * @throws MirrorError `USAGE`
 */
export function parseLists(words: readonly string[]): readonly ListName[] {
  const unknown = words.filter((word) => !LIST_NAMES.some((list) => list === word));
  if (unknown.length > 0) {
    const names = unknown.map((word) => `"${word}"`).join(', ');
    throw new MirrorError('USAGE', `There is no list ${names}. The lists are: ${LIST_NAMES.join(', ')}.`);
  }
  return words.length === 0 ? LIST_NAMES : LIST_NAMES.filter((list) => words.includes(list));
}
