/** Epoch values above this are milliseconds: as seconds it is the year 5138, as milliseconds March 1973. */
const MILLISECONDS_FROM = 1e11;

/**
 * An epoch in seconds or milliseconds, told apart by size (SERVICE-NOTES.md, "Timestamps"), as ISO 8601 UTC text; null outside the
 * years 1 to 9999 (microseconds, say), whose text would neither sort nor be an instant to a database.
 */
export function epochToIso(epoch: number): string | null {
  const date = new Date(Math.abs(epoch) >= MILLISECONDS_FROM ? epoch : epoch * 1000);
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 ? date.toISOString() : null;
}

/** The provider opened in 2004. */
const EARLIEST_THREAD = Date.UTC(2004);
const LATEST_THREAD = Date.UTC(2100);

/**
 * When a mail thread began, estimated from the provider's thread id: its first 11 hexadecimal digits are Unix
 * milliseconds (SERVICE-NOTES.md, checked on two ids, undocumented). Null for an id of another form or an absurd date.
 */
export function threadStart(threadId: string | null): string | null {
  if (threadId === null || !/^[0-9a-f]{15,16}$/i.test(threadId)) return null;
  const began = Number.parseInt(threadId.slice(0, 11), 16);
  return began >= EARLIEST_THREAD && began < LATEST_THREAD ? new Date(began).toISOString() : null;
}
