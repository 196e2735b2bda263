import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { HOUR, MINUTE, SECOND } from '../../core/clock.ts';
import { COOKIE, cookieIn } from '../frame/origin.ts';

/** A person logs in again after this many ms. */
const LOGGED_IN_MS = 12 * HOUR;

/** The clock may be set back by up to this many ms before it ends all sessions. */
const SET_BACK_MS = MINUTE;

/** The cookies of people who have logged in. The daemon stores none: a restart logs no person out. */
export interface Sessions {
  /** The value of `Set-Cookie` for a person who has given the token. */
  issue(isTls: boolean): string;
  /** The value of `Set-Cookie` that logs a person out. */
  clear(): string;
  /** True if this `Cookie` header shows that a person has given the present token, and not too long ago. */
  has(header: string | undefined): boolean;
}

/**
 * A cookie is the time of its end with a signature whose key is made from the token. Another token ends all
 * sessions, and no cookie shows the token.
 * @param now epoch ms
 */
export function createSessions(token: string, now: () => number): Sessions {
  const key = createHash('sha256').update(`inbox-mirror session ${token}`).digest();
  const signed = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');
  const attributes = 'Path=/; HttpOnly; SameSite=Strict';
  return {
    issue(isTls) {
      const end = String(now() + LOGGED_IN_MS);
      const age = LOGGED_IN_MS / SECOND;
      return `${COOKIE}=${end}.${signed(end)}; Max-Age=${age}; ${attributes}${isTls ? '; Secure' : ''}`;
    },
    clear: () => `${COOKIE}=; Max-Age=0; ${attributes}`,
    has(header) {
      const [, end, signature] = /^(\d{1,16})\.([\w-]{43})$/.exec(cookieIn(header)) ?? [];
      if (end === undefined || signature === undefined) return false;
      const isOurs = timingSafeEqual(Buffer.from(signature), Buffer.from(signed(end)));
      const leftMs = Number(end) - now();
      // A clock that was ahead has issued a cookie with a longer time left.
      return isOurs && leftMs > 0 && leftMs <= LOGGED_IN_MS + SET_BACK_MS;
    },
  };
}
