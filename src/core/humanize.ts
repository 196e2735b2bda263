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

const LENGTHS: Readonly<Record<string, number>> = { s: SECOND, m: MINUTE, min: MINUTE, h: HOUR, d: DAY };

/** @returns the milliseconds of `0.5s`, `30m`, `30min`, `2h` or `7d`; null for any other text */
export function parseLength(text: string): number | null {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*(s|m|min|h|d)$/.exec(text) ?? [];
  const ms = LENGTHS[unit];
  return ms === undefined ? null : Number(number) * ms;
}

/** `3 min ago`, `in 2 h`, `just now`; `never` for null. */
export function fromNow(instant: Date | null, now: number): string {
  if (instant === null) return 'never';
  const since = now - instant.getTime();
  if (Math.abs(since) < 1000) return 'just now';
  return since > 0 ? `${duration(since)} ago` : `in ${duration(-since)}`;
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

/** A foreign text on one line, without control characters and of at most `most` characters. */
export function onOneLine(text: string, most: number): string {
  // No text that can matter is cut here: it only keeps a body of many megabytes out of the next steps.
  const head = text.slice(0, 100 * most);
  const line = head.replaceAll(CONTROLS, ' ').replaceAll(/\s+/gu, ' ').trim();
  const cut = new RegExp(`^.{${most}}(?=.)`, 'su').exec(line);
  return cut === null ? line : `${cut[0]}…`;
}
