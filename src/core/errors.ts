/**
 * What can go wrong, by what a caller does about it. `main.ts` turns the code into the exit code.
 *
 * - `USAGE`, `CONFIG`: the words or the environment are off; nothing was done.
 * - `KEY_REFUSED`: 401 or 403. The gate is shut until the key changes or a person tries again.
 * - `BUDGET_SPENT`, `GATE_PAUSED`, `SERVICE_DOWN`, `LEASE_HELD`: stopped short, nothing lost, goes on later (`resumeAt` where known).
 * - `DAEMON_STOPPED`: the daemon that had begun an order is gone; the order goes on when it is started again.
 * - `ANSWER_FAILED`: one request failed again and again while others were answered; its list waits, the others go on.
 * - `REQUEST_REFUSED`: another 4xx, or a redirect. `TOKEN_REFUSED`: a 4xx for a page token.
 * - `BAD_ANSWER`: a 2xx whose body is not what the specification says.
 * - `ENDLESS_LIST`: the pages of a list do not come to an end.
 * - `DATABASE`: the mirror's database is locked, full, read-only, too new or broken.
 * - `STOPPED`: a person or a signal asked to stop. `LEASE_LOST`: another process took the mirror over.
 */
export type ErrorCode =
  | 'USAGE'
  | 'CONFIG'
  | 'KEY_REFUSED'
  | 'BUDGET_SPENT'
  | 'GATE_PAUSED'
  | 'SERVICE_DOWN'
  | 'ANSWER_FAILED'
  | 'LEASE_HELD'
  | 'DAEMON_STOPPED'
  | 'REQUEST_REFUSED'
  | 'TOKEN_REFUSED'
  | 'BAD_ANSWER'
  | 'ENDLESS_LIST'
  | 'DATABASE'
  | 'STOPPED'
  | 'LEASE_LOST';

export interface ErrorDetails {
  /** When it makes sense to go on. */
  readonly resumeAt?: Date | undefined;
  /** The HTTP status, where the service answered. */
  readonly status?: number | undefined;
  readonly cause?: unknown;
}

/** A known error: its message says what was tried, what came and what to do, in words for a person. */
export class MirrorError extends Error {
  override readonly name = 'MirrorError';
  readonly code: ErrorCode;
  readonly resumeAt: Date | undefined;
  readonly status: number | undefined;

  constructor(code: ErrorCode, message: string, { resumeAt, status, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.resumeAt = resumeAt;
    this.status = status;
  }
}

/** True for a {@link MirrorError} with one of the codes. */
export function isMirrorError(error: unknown, ...codes: ErrorCode[]): error is MirrorError {
  return error instanceof MirrorError && (codes.length === 0 || codes.includes(error.code));
}

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
