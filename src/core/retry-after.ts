/**
 * The `Retry-After` header in milliseconds from `now` (epoch ms): whole seconds or an HTTP date (RFC 9110 §10.2.3).
 * Null where there is no usable hint: no header, nonsense, 0 or a date in the past.
 */
export function retryAfter(header: string | undefined, now: number): number | null {
  const text = header?.trim() ?? '';
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : /[A-Za-z]/.test(text) ? Date.parse(text) - now : Number.NaN;
  return wait > 0 && Number.isFinite(wait) ? wait : null;
}
