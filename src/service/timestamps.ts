/**
 * Epoch values above these are milliseconds and microseconds: as seconds the first is the year 5138, as
 * milliseconds March 1973, and so on.
 */
const MILLISECONDS_FROM = 1e11;
const MICROSECONDS_FROM = 1e14;

/**
 * Converts an epoch in seconds, milliseconds or microseconds, recognised by size (docs/service.md), to
 * ISO 8601 UTC text.
 * @returns null outside the years 1 to 9999 (for example for nanoseconds), because such a text does not sort
 *   and no database reads it as an instant
 */
export function epochToIso(epoch: number): string | null {
  const size = Math.abs(epoch);
  const unitsInMs = size >= MICROSECONDS_FROM ? 1000 : size >= MILLISECONDS_FROM ? 1 : 0.001;
  return storableIso(new Date(epoch / unitsInMs));
}

const ISO_TEXT =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(?:(Z)|([+-]\d\d):?(\d\d))?)?$/i;

/** Converts ISO 8601 text of any zone (none: UTC) to UTC with milliseconds. Null for any other text. */
export function textToIso(text: string): string | null {
  const [, day, time = '00:00', , hours = '+00', minutes = '00'] = ISO_TEXT.exec(text) ?? [];
  // JavaScript would read 30 February as 1 March.
  if (day === undefined || storableIso(new Date(day))?.startsWith(day) !== true) return null;
  return storableIso(new Date(`${day}T${time}${hours}:${minutes}`));
}

function storableIso(date: Date): string | null {
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 ? date.toISOString() : null;
}

/** Thread ids before 2004, when the provider opened, or after 2099 give no estimate. */
const EARLIEST_THREAD = Date.UTC(2004);
const LATEST_THREAD = Date.UTC(2100);

/**
 * Estimates when a mail thread began, as ISO 8601 UTC text. The first 11 hexadecimal digits of the provider's
 * thread id are Unix milliseconds: undocumented, checked on two ids (docs/service.md).
 * @returns null for an id of another form, or a date outside the years 2004 to 2099
 */
export function threadStart(threadId: string | null): string | null {
  if (threadId === null || !/^[0-9a-f]{15,16}$/i.test(threadId)) return null;
  const began = Number.parseInt(threadId.slice(0, 11), 16);
  return began >= EARLIEST_THREAD && began < LATEST_THREAD ? new Date(began).toISOString() : null;
}
