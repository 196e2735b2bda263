/** What the gate must know over a restart. */
export interface GateState {
  /** 429s in a row; 0 when the gate is open. */
  readonly strikes: number;
  readonly pausedAt: Date | null;
  readonly pausedUntil: Date | null;
  readonly cause: string | null;
  readonly refusedKey: string | null;
  readonly refusedAt: Date | null;
}

/** 429s in a row that open the breaker. */
export const BREAKER_STRIKES = 3;
export const GATE_WORDS = ['open', 'paused', 'breaker', 'key-refused'] as const;
export type GateWord = (typeof GATE_WORDS)[number];

export function gateWordOf({ strikes, pausedUntil, refusedKey }: GateState, now: number): GateWord {
  if (refusedKey !== null) return 'key-refused';
  if (pausedUntil === null || pausedUntil.getTime() <= now) return 'open';
  return strikes >= BREAKER_STRIKES ? 'breaker' : 'paused';
}

/** A shorter pause after a 429 is waited out at the gate, where a request keeps its place in the line; a longer one stops whoever waits. */
export const PATIENCE_MS = 120_000;
