/** The three forms of an HTTP date, all in GMT (RFC 9110 §5.6.7); the third does not say so. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d(?: \d{4}| GMT)$/;

/**
 * The `Retry-After` header in milliseconds from `now` (epoch ms): whole seconds or an HTTP date (RFC 9110 §10.2.3).
 * Null where there is no usable hint: no header, nonsense, 0 or a date in the past.
 */
export function retryAfter(header: string | undefined, now: number): number | null {
  const text = header?.trim() ?? '';
  const wait = /^\d+$/.test(text)
    ? Number(text) * 1000
    : HTTP_DATE.test(text)
      ? Date.parse(inGmt(text)) - now
      : Number.NaN;
  return wait > 0 ? Math.min(wait, Number.MAX_SAFE_INTEGER) : null;
}

function inGmt(date: string): string {
  return date.endsWith('GMT') ? date : `${date} GMT`;
}
