import { SANDBOX_KEY } from '../core/secrets.ts';

/** The behaviour of the sandbox. Times are in milliseconds. */
export interface SandboxOptions {
  /** The only accepted API key. */
  key: string;
  /** Keys that exist but lack rights; they get a 403. */
  forbiddenKeys: string[];
  now: () => number;

  /** The same seed, options and clock give the same data and the same history. */
  seed: number;
  /** The number of inboxes; null: the length of `conversations` if that is an array, else 4. */
  inboxes: number | null;
  usersPerInbox: number;
  tagsPerInbox: number;
  /** Conversations per inbox: the average (the first inboxes get the most), or the exact numbers. */
  conversations: number | number[];
  /** The share of conversations that two inboxes list. */
  sharedShare: number;
  /** The word for a closed conversation, in the world and on the wire (docs/service.md). */
  closedStatus: 'closed' | 'close';

  /** `top`: `results` and `pagination` are outermost; `data`: both are inside `data` (spec §4.1). */
  envelope: 'data' | 'top';
  /** The JSON type of ids: `string` (spec §2), or `mixed`, the vendor's examples (docs/service.md). */
  idType: 'string' | 'number' | 'mixed';
  /** The form of instants. The specification's is an integer of seconds. */
  timestamps: 'seconds' | 'milliseconds' | 'microseconds' | 'iso';
  /** The `next_page` of a list's last page: null, as specified; no such field; or an empty text. */
  lastPage: 'null' | 'missing' | 'empty';
  /** The order of a list without `sort_order`; `mixed` has nothing to do with the ids (docs/service.md). */
  listOrder: 'asc' | 'desc' | 'mixed';
  /** The content of a page token: the id before the page, or how many rows lie before it. */
  pageTokens: 'ids' | 'positions';
  /** A token is refused this many ms after it was given; 0: never. */
  tokenLifeMs: number;
  /** The form of error bodies (spec §7); null: B for 429 and 5xx, A for any other status. */
  errorForm: 'A' | 'B' | null;
  /** Whether the tag search matches the whole name or a part of it (spec §4.3 does not specify this). */
  tagSearch: 'exact' | 'partial';

  /** The limit of requests per second; 0: no limit. */
  rate: number;
  /** The limit of requests in any 24 hours; 0: no limit. */
  perDay: number;
  /** The form of the `Retry-After` header on a 429; null: no header, like the service. */
  retryAfter: null | 'seconds' | 'date';

  /** The average number of changes per hour in the whole account. */
  activityPerHour: number;

  /** The shortest round trip, half of it for each way; 0: no wait. */
  latencyMs: number;
  /** The most that jitter adds to a round trip. Each way adds a uniform draw from 0 to half of it. */
  jitterMs: number;
  /** The share of requests answered with 500. They count towards the limits. */
  errorRate: number;
  /** After this many requests another account answers, with the same key and limits; null: never. */
  otherAccountAfter: number | null;
}

export const SANDBOX_DEFAULTS: SandboxOptions = {
  key: SANDBOX_KEY,
  forbiddenKeys: [],
  // Resolve `Date.now` at each call, so that a test's fake clock takes effect.
  now: () => Date.now(),
  seed: 1,
  inboxes: null,
  usersPerInbox: 6,
  tagsPerInbox: 8,
  conversations: 50,
  sharedShare: 0.03,
  closedStatus: 'closed',
  envelope: 'top',
  idType: 'string',
  timestamps: 'seconds',
  lastPage: 'null',
  listOrder: 'asc',
  pageTokens: 'ids',
  tokenLifeMs: 0,
  errorForm: null,
  tagSearch: 'exact',
  rate: 1,
  perDay: 5000,
  retryAfter: null,
  activityPerHour: 0,
  latencyMs: 0,
  jitterMs: 0,
  errorRate: 0,
  otherAccountAfter: null,
};

/** Returns the number of inboxes that the options request. */
export function inboxCount({ inboxes, conversations }: SandboxOptions): number {
  return inboxes ?? (Array.isArray(conversations) ? conversations.length : 4);
}

/**
 * Returns the number of conversations of each inbox: the exact numbers if given, else the average weighted
 * by rank. The second inbox gets half as many as the first, the third a third, and so on.
 */
export function conversationCounts(options: SandboxOptions): number[] {
  const { conversations } = options;
  const ranks = Array.from({ length: inboxCount(options) }, (_, index) => 1 / (index + 1));
  if (Array.isArray(conversations)) return ranks.map((_, index) => conversations[index] ?? 0);
  const sum = ranks.reduce((total, share) => total + share, 0);
  return ranks.map((share) => Math.round((conversations * ranks.length * share) / sum));
}

/**
 * A clock that begins with the machine's and is never set. On one that jumps forward, a request that came in
 * time could seem to have come too soon.
 */
export function steadyClock(): () => number {
  const start = Date.now() - performance.now();
  return () => Math.floor(start + performance.now());
}
