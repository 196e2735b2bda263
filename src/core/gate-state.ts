import { BUDGET_WINDOW_MS } from './budget.ts';
import { HOUR, MINUTE } from './clock.ts';
import { LAST_STRIKE } from './retry-timing.ts';

/** The gate's state that survives a restart. */
export interface GateState {
  /** 429s that are not forgotten yet ({@link nextStrike}). A good answer ends the pause, not this count. */
  readonly strikes: number;
  readonly pausedAt: Date | null;
  readonly pausedUntil: Date | null;
  /** The end of the last pause, if a good answer has ended it. */
  readonly endedAt: Date | null;
  readonly cause: string | null;
  /** The access, as `accessId` names it, whose key the service refused. */
  readonly refusedKey: string | null;
  /** Since when the gate is shut for it. */
  readonly refusedAt: Date | null;
  /** The gap between two requests in multiples of that of REQUESTS_PER_SECOND: 1 to 16. */
  readonly slowdown: number;
  /** Requests of this mirror in 24 hours when the service refused one for the limit of its day. */
  readonly dayLimit: number | null;
  readonly dayLimitAt: Date | null;
}

/** The number of strikes that opens the breaker. */
const BREAKER_STRIKES = 3;

/** A path that alone draws 429s pauses the gate, but never opens the breaker: it counts up to this strike. */
export const MOST_STRIKES_ALONE = BREAKER_STRIKES - 1;

/** Strikes are forgotten this many ms after the end of the last pause. */
const STRIKE_MEMORY_MS = HOUR;

/** A third of that memory after the end of a pause, at most 2 strikes count; after two thirds, 1. */
const STRIKE_STEPS = 3;

/**
 * One strike is forgotten after this many served requests since the end of the last pause. If another client
 * collides with a request now and then, each 429 pauses the gate for seconds only.
 */
const SERVED_PER_STRIKE = 10;

/**
 * While the gap is N times as long, a served request counts N times, at most this often. Otherwise ten
 * requests of another client each 3 minutes keep the strikes at five for days: the longer gap lets fewer than
 * {@link SERVED_PER_STRIKE} requests through. A single served request takes no strike away.
 */
const MOST_COUNTED = 8;

/**
 * The number of a 429 that arrives at `now` (epoch ms).
 * @param served requests that were served since the end of the last pause
 */
export function nextStrike({ strikes, endedAt, slowdown }: GateState, now: number, served: number): number {
  const quiet = endedAt === null ? 0 : Math.max(0, now - endedAt.getTime()) / STRIKE_MEMORY_MS;
  if (quiet >= 1) return 1;
  const kept = quiet < 1 / STRIKE_STEPS ? strikes : Math.ceil((1 - quiet) * STRIKE_STEPS);
  const counted = served * Math.min(slowdown, MOST_COUNTED);
  const left = Math.max(0, strikes - Math.floor(counted / SERVED_PER_STRIKE));
  return Math.min(kept, left, LAST_STRIKE - 1) + 1;
}

/** The longest gap between requests after 429s, in gaps of the full rate. */
export const MOST_SLOWDOWN = 16;

/** A good answer shortens the gap by this share of the gap at the full rate. */
const EASE = 1 / 8;

/** A stored slowdown. A value that this program does not write would stop all requests, or space none: 1. */
export function readSlowdown(stored: number | null | undefined): number {
  return typeof stored === 'number' && stored >= 1 && stored <= MOST_SLOWDOWN ? stored : 1;
}

/** The slowdown after a 429 at `now` (epoch ms): the gap doubles. */
export function slower(state: GateState, now: number): number {
  return Math.min(MOST_SLOWDOWN, 2 * (isForgotten(state, now) ? 1 : state.slowdown));
}

/** The slowdown after a good answer at `now` (epoch ms). An hour without 429s restores the full rate. */
export function faster(state: GateState, now: number): number {
  return isForgotten(state, now) ? 1 : Math.max(1, state.slowdown - EASE);
}

/**
 * Signs that others use the account: 429s inside the mirror's limits. `day`: the service's day was full when
 * this mirror had sent `sent` requests; the budget is lowered to them until `until`. `rate`: the gap between
 * requests is `slowdown` times as long as configured. Null: nothing.
 */
export type ForeignUse =
  | { readonly kind: 'day'; readonly sent: number; readonly at: Date; readonly until: Date }
  | { readonly kind: 'rate'; readonly slowdown: number };

/** Judges foreign use at `now` (epoch ms). */
export function foreignUse(state: GateState, now: number): ForeignUse | null {
  const { dayLimit: sent, dayLimitAt: at } = state;
  const until = new Date((at?.getTime() ?? 0) + BUDGET_WINDOW_MS);
  if (sent !== null && at !== null && until.getTime() > now) return { kind: 'day', sent, at, until };
  if (state.slowdown === 1 || isForgotten(state, now)) return null;
  return { kind: 'rate', slowdown: state.slowdown };
}

/** True an hour after the end of the last pause. */
function isForgotten({ endedAt }: GateState, now: number): boolean {
  return endedAt !== null && now - endedAt.getTime() >= STRIKE_MEMORY_MS;
}

/** A request waits at the gate for a pause of up to this many ms; a longer one ends it with `GATE_PAUSED`. */
export const PATIENCE_MS = 2 * MINUTE;

export const GATE_WORDS = ['open', 'paused', 'breaker', 'key-refused'] as const;
export type GateWord = (typeof GATE_WORDS)[number];

export interface GateJudgement<Word extends GateWord = GateWord> {
  readonly word: Word;
  /** When the pause ends; null if there is none. */
  readonly until: Date | null;
  /** True if a request must fail instead of waiting at the gate. */
  readonly isLong: boolean;
  /** Why the gate is shut; empty if it is open. */
  readonly cause: string;
}

/** Causes for a gate that is shut and stores none. */
const PAUSE_CAUSE = '429';
export const REFUSAL_CAUSE = 'the service refused the key';

/** Whether a pause after 429s shuts the gate at `now` (epoch ms). */
export function judgePause(
  { strikes, pausedUntil, cause: stored }: GateState,
  now: number,
  patienceMs = PATIENCE_MS,
): GateJudgement<'open' | 'paused' | 'breaker'> {
  if (pausedUntil === null || pausedUntil.getTime() <= now)
    return { word: 'open', until: null, isLong: false, cause: '' };
  const cause = stored ?? PAUSE_CAUSE;
  if (strikes >= BREAKER_STRIKES) return { word: 'breaker', until: pausedUntil, isLong: true, cause };
  return { word: 'paused', until: pausedUntil, isLong: pausedUntil.getTime() - now > patienceMs, cause };
}

/**
 * Whether the gate is shut at `now` (epoch ms), and for how long.
 * @param access in use, as `accessId` names it; without it, any refused key shuts the gate
 */
export function judgeGate(state: GateState, now: number, access = state.refusedKey): GateJudgement {
  return state.refusedKey !== null && state.refusedKey === access
    ? { word: 'key-refused', until: null, isLong: true, cause: state.cause ?? REFUSAL_CAUSE }
    : judgePause(state, now);
}

/** True if the service was in reach, and answered 429. @param cause of an outage; null: unknown */
export function isAnswering429({ cause }: { readonly cause: string | null }): boolean {
  return /^\S+ \S+: HTTP 429\b/.test(cause ?? '');
}

/** An outage in words for people: a sentence without its full stop. */
export function outageWords(outage: { readonly cause: string | null }): string {
  return isAnswering429(outage)
    ? 'the service answers, but refuses requests (HTTP 429)'
    : 'the service is out of reach';
}
