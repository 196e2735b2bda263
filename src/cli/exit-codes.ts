import { type ErrorCode, isMirrorError } from '../core/errors.ts';

/** Exit codes (DESIGN.md, "Commands"). */
export const EXIT = {
  done: 0,
  unexpected: 1,
  usage: 2,
  keyRefused: 3,
  resumable: 4,
  stale: 5,
  interrupted: 130,
} as const;

const CODES: Partial<Record<ErrorCode, number>> = {
  USAGE: EXIT.usage,
  CONFIG: EXIT.usage,
  KEY_REFUSED: EXIT.keyRefused,
  BUDGET_SPENT: EXIT.resumable,
  GATE_PAUSED: EXIT.resumable,
  SERVICE_DOWN: EXIT.resumable,
  ANSWER_FAILED: EXIT.resumable,
  LEASE_HELD: EXIT.resumable,
  DAEMON_STOPPED: EXIT.resumable,
  STOPPED: EXIT.interrupted,
};

export function exitCodeOf(error: unknown): number {
  return isMirrorError(error) ? (CODES[error.code] ?? EXIT.unexpected) : EXIT.unexpected;
}
