import { createRequire } from 'node:module';
import { DAY, HOUR, MINUTE, SECOND } from './clock.ts';

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** A length of time in at most two units: `3 min`, `1 h 20 min`, `2 d 4 h`. Under a second: `under 1 s`. */
export function duration(milliseconds: number): string {
  let seconds = Math.round(Math.max(0, milliseconds) / 1000);
  if (seconds < 1) return 'under 1 s';
  // Round to the smaller of the two units shown: seconds beside hours are noise.
  const largest = UNITS.findIndex(([, size]) => seconds >= size);
  const smallest = UNITS[Math.min(largest + 1, UNITS.length - 1)]?.[1] ?? 1;
  seconds = Math.round(seconds / smallest) * smallest;
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const whole = Math.floor(seconds / size);
    if (whole > 0 && parts.length < 2) parts.push(`${whole} ${unit}`);
    seconds -= whole * size;
  }
  return parts.join(' ');
}

/** The units of a length of time; the longer words also in the plural. */
const LENGTHS: readonly (readonly [words: RegExp, ms: number])[] = [
  [/^(?:s|sec|seconds?)$/, SECOND],
  [/^(?:m|min|minutes?)$/, MINUTE],
  [/^(?:h|hours?)$/, HOUR],
  [/^(?:d|days?)$/, DAY],
  [/^(?:w|weeks?)$/, 7 * DAY],
];

/** @returns the milliseconds of `0.5s`, `30m`, `30min`, `2h`, `3days` or `2w`; null for other texts */
export function parseLength(text: string): number | null {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text) ?? [];
  const length = LENGTHS.find(([words]) => words.test(unit));
  return length === undefined ? null : Number(number) * length[1];
}

/** `3 min ago`, `in 2 h`, `just now`; `never` for null. */
export function fromNow(instant: Date | null, now: number): string {
  if (instant === null) return 'never';
  const since = now - instant.getTime();
  if (Math.abs(since) < 1000) return 'just now';
  return since > 0 ? `${duration(since)} ago` : `in ${duration(-since)}`;
}

/** When something is due: `in 2 h`, or `now` if less than a second is left. */
export function whenDue(instant: Date, now: number): string {
  return instant.getTime() - now < 1000 ? 'now' : fromNow(instant, now);
}

/**
 * A moment as people say it: `14:41` today, `tomorrow 14:41`, else `24 Nov 14:41` with the year if it is
 * another one. `UTC` follows in that zone.
 */
export function clockTime(at: Date, now: number, timeZone: string): string {
  const zone = timeZone === 'UTC' ? ' UTC' : '';
  const dayOf = (instant: Date): string => new Intl.DateTimeFormat('en-CA', { timeZone }).format(instant);
  const time = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(at);
  const day = dayOf(at);
  if (day === dayOf(new Date(now))) return `${time}${zone}`;
  if (day === dayOf(new Date(now + DAY))) return `tomorrow ${time}${zone}`;
  const isThisYear = day.slice(0, 4) === dayOf(new Date(now)).slice(0, 4);
  const date = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    day: 'numeric',
    month: 'short',
    ...(isThisYear ? {} : { year: 'numeric' }),
  }).format(at);
  return `${date} ${time}${zone}`;
}

/**
 * A text whose ISO 8601 instants are replaced by {@link clockTime}. The service's words can have the form of
 * an instant without being one, such as `0000-00-00T00:00:00Z`: these stay.
 */
export function inClockTimes(text: string, now: number, timeZone: string): string {
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (words) => {
    const instant = new Date(words);
    return Number.isNaN(instant.getTime()) ? words : clockTime(instant, now, timeZone);
  });
}

/** A number with separated thousands: `12,345`. */
export function thousands(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 request`, `12,345 requests`. */
export function plural(value: number, noun: string): string {
  return `${thousands(value)} ${noun}${value === 1 ? '' : noun.endsWith('x') ? 'es' : 's'}`;
}

/** Control characters, which a terminal may obey, and those that reverse the order of a text. */
export const CONTROLS = /[\p{Cc}\p{Bidi_Control}]/gu;

const CONTROLS_IN_LINES = new RegExp(String.raw`(?!\n|\t|\r\n)${CONTROLS.source}`, 'gu');

/** A text of any number of lines. A mark replaces each control character but tabs and line breaks. */
export function withMarks(text: string): string {
  return text.replaceAll(CONTROLS_IN_LINES, '�');
}

/** A foreign text on one line, without control characters and of at most `most` characters. */
export function onOneLine(text: string, most: number): string {
  // No text that can matter is cut here: it only keeps a body of many megabytes out of the next steps.
  const head = text.slice(0, 100 * most);
  const line = head.replaceAll(CONTROLS, ' ').replaceAll(/\s+/gu, ' ').trim();
  const cut = new RegExp(`^.{${most}}(?=.)`, 'su').exec(line);
  return cut === null ? line : `${cut[0]}…`;
}

/** Characters of one cell each, also side by side: ASCII, Latin, dashes, quotes, arrows, lines, blocks. */
const OF_ONE_CELL = /^[ -~\u00A1-\u00AC\u00AE-\u02FF\u2010-\u2027\u2190-\u21FF\u2500-\u259F]*$/;

const load = createRequire(import.meta.url);

/**
 * The cells that a text fills on a terminal. Only a text of other characters loads `string-width`: its tables
 * of emoji cost 45 ms of CPU, more than a third of a short command.
 */
export function cellsOf(text: string): number {
  if (OF_ONE_CELL.test(text)) return text.length;
  return (load('string-width') as typeof import('string-width')).default(text);
}

/** A text cut to `most` cells, with `…` at the cut. `cli-truncate` loads `string-width`: {@link cellsOf}. */
export function cutToCells(text: string, most: number, position: 'end' | 'middle' = 'end'): string {
  if (OF_ONE_CELL.test(text) && text.length <= most) return text;
  return (load('cli-truncate') as typeof import('cli-truncate')).default(text, most, { position });
}

/** Stands for a space at which no line may break; no text of the service should hold it (private use). */
export const HELD_SPACE = '\uE000';

/** The space between a figure and its unit. */
const BEFORE_UNIT = /(?<=\d) (?=(?:d|h|min|s|ms|%|[kMG]?B|UTC)(?!\w))/g;

/**
 * A text broken into lines of `cells` cells, between words: not at a {@link HELD_SPACE}, which becomes a
 * space, nor between a figure and its unit. `wrap-ansi` loads `string-width`: see {@link cellsOf}.
 * @param hard breaks a word that is longer than a line
 */
export function wrapToCells(text: string, cells: number, hard = false): string {
  const { default: wrap } = load('wrap-ansi') as typeof import('wrap-ansi');
  return wrap(text.replaceAll(BEFORE_UNIT, HELD_SPACE), cells, { hard }).replaceAll(HELD_SPACE, ' ');
}
