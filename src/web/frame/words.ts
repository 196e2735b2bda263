import { DAY } from '../../core/clock.ts';
import { duration, fromNow } from '../../core/humanize.ts';
import { html, type Html } from './html.ts';

/** The moment of a page, and the time zone of its days and exact times. */
export interface Moment {
  /** Epoch ms. */
  readonly now: number;
  /** REPORT_TIMEZONE. */
  readonly timezone: string;
}

/** An instant in words; the exact one, in REPORT_TIMEZONE, is shown on hover. */
export function ago(instant: Date | string | null, { now, timezone }: Moment): Html {
  if (instant === null) return html`never`;
  const date = new Date(instant);
  return html`<time datetime="${date.toISOString()}" title="${exact(date, timezone)}"
    >${fromNow(date, now)}</time
  >`;
}

/** A length of time in ms, in words that keep to one line. */
export function lengthOf(ms: number): string {
  return duration(ms).replaceAll(' ', '\u00A0');
}

/** How long something has lasted since an instant: `3 min`; the exact instant is shown on hover. */
export function lasting(since: Date | string, { now, timezone }: Moment): Html {
  const date = new Date(since);
  return html`<time datetime="${date.toISOString()}" title="since ${exact(date, timezone)}"
    >${duration(now - date.getTime())}</time
  >`;
}

/** An instant as a date and a time of day in REPORT_TIMEZONE, such as `22 Nov 2026, 04:15:09`. */
export function exact(instant: Date | string, timezone: string): string {
  return formatter(timezone, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).format(new Date(instant));
}

/** An instant as a day and a time of day; the exact one is shown on hover. */
export function dateTime(instant: Date | string, { timezone }: Moment): Html {
  const date = new Date(instant);
  const text = formatter(timezone, {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(date);
  return html`<time datetime="${date.toISOString()}" title="${exact(date, timezone)}">${text}</time>`;
}

/** The hour and minute of an instant (epoch ms) in REPORT_TIMEZONE: `04:15`. */
export function hourWords(instant: number, timezone: string): string {
  return formatter(timezone, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(instant);
}

/** The day in REPORT_TIMEZONE that is `days` days before the moment, such as `2026-03-02`. */
export function dayBefore({ now, timezone }: Moment, days: number): string {
  const today = formatter(timezone, { day: '2-digit', month: '2-digit', year: 'numeric' }, 'en-CA').format(
    now,
  );
  return new Date(Date.parse(`${today}T00:00:00Z`) - days * DAY).toISOString().slice(0, 10);
}

/** `many` days from `first` on, such as `2026-03-02`. */
export function daysFrom(first: string, many: number): string[] {
  const start = Date.parse(first);
  return Array.from({ length: many }, (_, nth) => new Date(start + nth * DAY).toISOString().slice(0, 10));
}

/** A day such as `2026-03-02` in words: `2 Mar`. */
export function dayWords(day: string): string {
  return formatter('UTC', { day: 'numeric', month: 'short' }).format(new Date(`${day}T00:00:00Z`));
}

/** A name that others have chosen. Its direction does not change that of the text around it. */
export function named(name: string | null | undefined, id: string | null, absent = 'no name'): Html {
  const title = id === null ? '' : `id ${id}`;
  if (name === null || name === undefined || name.trim() === '')
    return html`<bdi class="absent" title="${title}">${id === null ? absent : `${absent} (${id})`}</bdi>`;
  return html`<bdi title="${title}">${name}</bdi>`;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

/** Making a formatter takes longer than all its uses on a page. */
function formatter(
  timeZone: string,
  options: Intl.DateTimeFormatOptions,
  locale = 'en-GB',
): Intl.DateTimeFormat {
  const key = `${locale} ${timeZone} ${Object.keys(options).join()}`;
  const made = formatters.get(key) ?? new Intl.DateTimeFormat(locale, { ...options, timeZone });
  formatters.set(key, made);
  return made;
}
