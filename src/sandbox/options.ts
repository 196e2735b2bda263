/** How the stand-in service behaves. Times in milliseconds. */
export interface SandboxOptions {
  /** The one key that is let in. */
  key: string;
  /** Keys that are known but lack rights: 403. */
  forbiddenKeys: string[];
  now: () => number;

  /** Same seed, options and clock: same data and same history. */
  seed: number;
  /** How many inboxes; when left out, the length of `conversations` if that is an array, else 4. */
  inboxes: number | null;
  usersPerInbox: number;
  tagsPerInbox: number;
  /** Per inbox: the average (the first inboxes are the busiest), or the exact number of each. */
  conversations: number | number[];
  /** Share of conversations that stand in the lists of two inboxes. */
  sharedShare: number;
  /** The word for a closed conversation, in the world and on the wire (SERVICE-NOTES.md, "Statuses"). */
  closedStatus: 'closed' | 'close';

  /** `data`: lists are wrapped in `data`; `top`: `results` and `pagination` stand at the top (spec §4.1). */
  envelope: 'data' | 'top';
  /** JSON type of ids; `mixed`: numbers in conversations, strings elsewhere. */
  idType: 'string' | 'number' | 'mixed';
  /** Form of error bodies (spec §7); null: A for 4xx, B for 429 and 5xx. */
  errorForm: 'A' | 'B' | null;
  /** Whether the tag search wants the whole name or a part of it (spec §4.3 leaves it open). */
  tagSearch: 'exact' | 'partial';

  /** Requests per second; 0: no limit. */
  rate: number;
  /** Requests in any 24 hours; 0: no limit. */
  perDay: number;
  /** How a 429 says when to come back; null: not at all, as the service does. */
  retryAfter: null | 'seconds' | 'date';

  /** Changes an hour over the whole account. */
  activityPerHour: number;

  /** Least round trip, half of it out and half of it back; 0: no wait at all. */
  latencyMs: number;
  /** Added to the round trip, evenly from 0 to this, drawn for each way by itself. */
  jitterMs: number;
  /** Share of requests that are answered 500, after they were counted. */
  errorRate: number;
}

export const SANDBOX_DEFAULTS: SandboxOptions = {
  key: 'sandbox-key',
  forbiddenKeys: [],
  // Looked up at each call, so that a test's fake clock is seen.
  now: () => Date.now(),
  seed: 1,
  inboxes: null,
  usersPerInbox: 6,
  tagsPerInbox: 8,
  conversations: 50,
  sharedShare: 0.03,
  closedStatus: 'closed',
  envelope: 'data',
  idType: 'mixed',
  errorForm: null,
  tagSearch: 'exact',
  rate: 1,
  perDay: 5000,
  retryAfter: null,
  activityPerHour: 0,
  latencyMs: 0,
  jitterMs: 0,
  errorRate: 0,
};

/** How many inboxes the options ask for. */
export function inboxCount({ inboxes, conversations }: SandboxOptions): number {
  return inboxes ?? (Array.isArray(conversations) ? conversations.length : 4);
}

/** How many conversations each inbox gets: as told, or the average skewed by rank (second inbox half of the first, and so on). */
export function conversationCounts(options: SandboxOptions): number[] {
  const { conversations } = options;
  const ranks = Array.from({ length: inboxCount(options) }, (_, index) => 1 / (index + 1));
  if (Array.isArray(conversations)) return ranks.map((_, index) => conversations[index] ?? 0);
  const sum = ranks.reduce((total, share) => total + share, 0);
  return ranks.map((share) => Math.round((conversations * ranks.length * share) / sum));
}
