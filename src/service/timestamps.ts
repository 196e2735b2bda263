/** Epoch values above this are milliseconds: as seconds it is the year 5138, as milliseconds March 1973. */
const MILLISECONDS_FROM = 1e11;

/**
 * Converts an epoch in seconds or milliseconds, recognised by size (docs/service.md), to ISO 8601 UTC text.
 * @returns null outside the years 1 to 9999 (for example for microseconds), because such a text does not sort
 *   and no database reads it as an instant
 */
export function epochToIso(epoch: number): string | null {
  const date = new Date(Math.abs(epoch) >= MILLISECONDS_FROM ? epoch : epoch * 1000);
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
