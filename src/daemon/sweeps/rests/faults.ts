import type { Clock } from '../../../core/clock.ts';
import { isMirrorError } from '../../../core/errors.ts';

/** When the pause ends that a 429 for the failed request has begun, monotonic ms; null: it drew none. */
export function pauseEndAfter429(error: unknown, clock: Clock): number | null {
  if (!isMirrorError(error, 'GATE_PAUSED', 'ANSWER_FAILED') || error.status !== 429) return null;
  return clock.monotonic() + Math.max(0, (error.resumeAt?.getTime() ?? 0) - clock.now());
}

/** True for a bug, and for a database that refuses what a list needs: the service is not to blame. */
export function isOwnFault(error: unknown): boolean {
  return !isMirrorError(error) || isMirrorError(error, 'STATEMENT_REFUSED');
}
