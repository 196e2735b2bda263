import { type ErrorCode, isMirrorError, MirrorError } from '../../core/errors.ts';

/** An error on its way between threads, which take away its class. */
export interface Failure {
  readonly failure: unknown;
  readonly code: ErrorCode | null;
}

export function failureOf(error: unknown): Failure {
  return { failure: error, code: isMirrorError(error) ? error.code : null };
}

/** The error, with its class. */
export function restoredError({ failure, code }: Failure): unknown {
  return code !== null && failure instanceof Error
    ? new MirrorError(code, failure.message, { cause: failure.cause })
    : failure;
}
