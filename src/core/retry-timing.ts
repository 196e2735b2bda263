import { DAY, HOUR, MINUTE, SECOND } from './clock.ts';

/** The first and the longest pause after 429s or failed deliveries, before jitter. */
const FIRST_PAUSE_MS = 5 * SECOND;
const LONGEST_PAUSE_MS = HOUR;

/** Each further pause is 6 times as long as the one before. */
const LENGTHENING = 6;

/** The strike from which each pause has the longest time. */
export const LAST_STRIKE = 1 + Math.ceil(Math.log(LONGEST_PAUSE_MS / FIRST_PAUSE_MS) / Math.log(LENGTHENING));

/** A longer `Retry-After` counts as this many ms: the service counts requests by the day (spec §8). */
export const LONGEST_HINT_MS = DAY;

/** The pause after the first failure of a request, before jitter. */
const FIRST_RETRY_MS = 2 * SECOND;

/** Jitter lengthens a pause by up to this share of it. */
const JITTER = 0.2;

/**
 * Milliseconds to pause after the `strike`-th 429 (`nextStrike` counts), or after that many failed deliveries
 * to a webhook in a row (1, 2, …): 5 s, 30 s, 3 min, 18 min, then an hour, each up to 20 % longer by `random`
 * (0 to 1). A hint (`Retry-After`, ms) replaces the first pause, and can only lengthen the later ones: a
 * service that answers "1 s" for an hour receives only a few requests (spec §8, rules 2 and 3).
 */
export function pauseAfterStrike(strike: number, hint: number | null, random: number): number {
  const hinted = hint === null ? 0 : Math.min(hint, LONGEST_HINT_MS);
  if (strike === 1 && hinted > 0) return hinted;
  const ladder = Math.min(FIRST_PAUSE_MS * LENGTHENING ** (strike - 1), LONGEST_PAUSE_MS);
  return Math.max(hinted, ladder * (1 + JITTER * random));
}

/** Milliseconds from the `failures`-th failure (1, 2, 3) to its retry: 2, 4, 8 s, each up to 20 % longer. */
export function pauseAfterFailure(failures: number, random: number): number {
  return FIRST_RETRY_MS * 2 ** (failures - 1) * (1 + JITTER * random);
}

/** A `Retry-After` of at least this many ms is for the limit of the day, not for the rate. */
const DAY_HINT_MS = 15 * MINUTE;

/**
 * Which limit a 429 names, by the service's words and by `hint` (`Retry-After`, ms). The specification gives
 * no words (spec §8). Words that name both limits tell neither. Null if nothing tells.
 */
export function limitOf(words: string | null, hint: number | null): 'day' | 'rate' | null {
  const namesDay = /\b(day|daily|24[ -]?h(ours?)?)\b/i.test(words ?? '');
  const namesRate = /\bsecond(s|ly)?\b/i.test(words ?? '');
  if (namesDay !== namesRate) return namesDay ? 'day' : 'rate';
  if (hint === null) return null;
  return hint >= DAY_HINT_MS ? 'day' : 'rate';
}

/** The three forms of an HTTP date, all in GMT (RFC 9110 §5.6.7). The third form does not name the zone. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d(?: \d{4}| GMT)$/;

/**
 * The `Retry-After` header in milliseconds: whole seconds or an HTTP date (RFC 9110 §10.2.3). A date counts
 * from the answer's own `date`, because the machine's clock may differ, or from `now` (epoch ms): the shorter
 * wait, because either clock may be wrong. Null without a usable hint: no header, nonsense, 0 or a past date.
 */
export function retryAfter(
  {
    retryAfter: header,
    date,
  }: { readonly retryAfter: string | undefined; readonly date?: string | undefined },
  now: number,
): number | null {
  const text = header?.trim() ?? '';
  const at = httpTime(text) ?? Number.NaN;
  const waits = /^\d+$/.test(text) ? [Number(text) * 1000] : [at - now, at - (httpTime(date) ?? now)];
  const wait = Math.min(...waits.filter((ms) => ms > 0), Infinity);
  return waits.some((ms) => ms > 0) ? Math.min(wait, Number.MAX_SAFE_INTEGER) : null;
}

/** The instant of an HTTP date, epoch ms; null for anything else. */
function httpTime(date = ''): number | null {
  if (!HTTP_DATE.test(date)) return null;
  const time = Date.parse(date.endsWith('GMT') ? date : `${date} GMT`);
  return Number.isNaN(time) ? null : time;
}
