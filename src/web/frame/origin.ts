import type { FastifyRequest } from 'fastify';

/**
 * True if another site's page causes this request, other than by a link that a person follows. A browser that
 * does not tell (`Sec-Fetch-Site`) is believed: it also keeps the answer from that page.
 */
export function isForeign({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document';
}

/** True if a form of these pages, or a program, sent this request. */
export function isOwnForm({ headers }: FastifyRequest): boolean {
  const { origin, host = '' } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}

/** The name of the only cookie: it shows who has logged in. */
export const COOKIE = 'inbox-mirror';

/** The value of our cookie in a header `Cookie`; an empty text if there is none. */
export function cookieIn(header = ''): string {
  return new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]*)`).exec(header)?.[1] ?? '';
}

/** No script, style, image or form of these pages comes from or goes to another place than this daemon. */
export const POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'connect-src': ["'self'"],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
} as const;

/** The value of the header `Content-Security-Policy`. */
export const POLICY_TEXT = Object.entries(POLICY)
  .map(([directive, sources]) => `${directive} ${sources.join(' ')}`)
  .join(';');
