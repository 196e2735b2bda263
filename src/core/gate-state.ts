import { HOUR, MINUTE } from './clock.ts';

/** The gate's state that survives a restart. */
export interface GateState {
  /** 429s without an hour of open gate between them. A good answer ends the pause and keeps this count. */
  readonly strikes: number;
  readonly pausedAt: Date | null;
  readonly pausedUntil: Date | null;
  /** The end of the last pause, if a good answer has ended it. */
  readonly endedAt: Date | null;
  readonly cause: string | null;
  /** Fingerprint of the key that the service refused. */
  readonly refusedKey: string | null;
  readonly refusedAt: Date | null;
}

/** The number of strikes that opens the breaker. */
const BREAKER_STRIKES = 3;

/** Strikes are forgotten this many ms after the end of the last pause. */
const STRIKE_MEMORY_MS = HOUR;

/** The number of a 429 that arrives at `now` (epoch ms). */
export function nextStrike({ strikes, endedAt }: GateState, now: number): number {
  return endedAt !== null && now - endedAt.getTime() >= STRIKE_MEMORY_MS ? 1 : strikes + 1;
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
 * @param fingerprint of the key in use; without it, any refused key shuts the gate
 */
export function judgeGate(state: GateState, now: number, fingerprint = state.refusedKey): GateJudgement {
  return state.refusedKey !== null && state.refusedKey === fingerprint
    ? { word: 'key-refused', until: null, isLong: true, cause: state.cause ?? REFUSAL_CAUSE }
    : judgePause(state, now);
}
