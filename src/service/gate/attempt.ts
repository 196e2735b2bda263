import { messageOf } from '../../core/errors.ts';
import { BrokenBody, readErrorMessage } from '../envelope.ts';
import { type Answer, NoAnswer } from '../http.ts';
import { keyRefused } from './errors.ts';

/** An answer as the caller parsed it; the ledger records `items`. */
export interface ParsedAnswer<Result> {
  readonly result: Result;
  readonly items: number | null;
}

/** How one request ended. `wrong`: a 2xx that `read` rejects. `lost`: no answer; its arrival is unknown. */
export type Attempt<Result> =
  | { readonly kind: 'good'; readonly answer: Answer; readonly parsed: ParsedAnswer<Result> }
  | {
      readonly kind: 'refused' | 'throttled' | 'unauthorised' | 'failed';
      readonly answer: Answer;
      readonly cause: string;
      /** The service refuses this path alone, so that no retry helps now. */
      readonly isPathAlone?: boolean;
    }
  | { readonly kind: 'wrong'; readonly answer: Answer; readonly cause: string; readonly error: unknown }
  | { readonly kind: 'lost'; readonly cause: string; readonly error: unknown };

/** An attempt without an answer that the caller can use. */
export type Failure = Exclude<Attempt<unknown>, { kind: 'good' }>;

/**
 * Sends one request and classifies its end for the gate. Never throws: an error of `send` means `lost`.
 * @param forbids what a 403 refuses
 */
export async function attempt<Result>(
  send: () => Promise<Answer>,
  read: (answer: Answer) => ParsedAnswer<Result>,
  forbids: 'key' | 'list' = 'key',
): Promise<Attempt<Result>> {
  let answer: Answer;
  try {
    answer = await send();
  } catch (error) {
    return { kind: 'lost', cause: messageOf(error), error };
  }
  const { status } = answer;
  if (status < 200 || status >= 300) return { kind: kindOf(status, forbids), answer, cause: causeOf(answer) };
  try {
    return { kind: 'good', answer, parsed: read(answer) };
  } catch (error) {
    const message = messageOf(error);
    return error instanceof BrokenBody
      ? { kind: 'failed', answer, cause: message }
      : { kind: 'wrong', answer, cause: message, error };
  }
}

function kindOf(
  status: number,
  forbids: 'key' | 'list',
): 'refused' | 'throttled' | 'unauthorised' | 'failed' {
  if (status === 429) return 'throttled';
  if (status === 403 && forbids === 'list') return 'refused';
  if (status === 401 || status === 403) return 'unauthorised';
  return status >= 500 || status === 408 ? 'failed' : 'refused';
}

/** The status, with the service's own words if it gives a reason. */
function causeOf({ status, body }: Answer): string {
  const words = readErrorMessage(body);
  return words === null ? `HTTP ${status}` : `HTTP ${status}: ${words}`;
}

/** @throws the error of an attempt, if a retry would not help */
export function throwIfHopeless(ended: Failure): void {
  if (ended.kind === 'wrong') throw ended.error;
  if (ended.kind === 'unauthorised') throw keyRefused(ended.cause, ended.answer.status);
  if (ended.kind === 'lost' && !(ended.error instanceof NoAnswer)) throw ended.error;
}

/** True if the service is up and accepts the key, even if its answer cannot be used. */
export function wasServed({ kind }: Attempt<unknown>): boolean {
  return kind === 'good' || kind === 'refused' || kind === 'wrong';
}
