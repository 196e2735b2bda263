import type { Answer } from '../http.ts';
import type { Failure, ParsedAnswer } from './attempt.ts';
import type { SlotRequest } from './turnstile.ts';

/** One call of the client, which may cost several requests. */
export interface Call extends SlotRequest {
  /** At most this many requests for the call, the retries included. A check uses 1. */
  readonly tries?: number | undefined;
  /**
   * A test of the service (`Exchange.elsewhere`): if its failure asks to wait, the gate stays open. A 429
   * pauses the gate nevertheless.
   */
  readonly isServiceTest?: boolean;
}

/** An answer for the caller, with the ledger id of its request and the number of requests sent for it. */
export type CallOutcome<Result> = {
  readonly requestId: number;
  readonly requests: number;
  readonly answer: Answer;
} & ({ readonly ok: true; readonly result: Result } | { readonly ok: false });

/** Sends one request; `read` reads a 2xx and throws `BrokenBody` if the answer is worth a retry. */
export interface Exchange<Result> {
  readonly send: () => Promise<Answer>;
  readonly read: (answer: Answer) => ParsedAnswer<Result>;
  /** A 403 refuses the key, or only this list; for a list the gate stays open. Default: `key`. */
  readonly forbids?: 'key' | 'list';
  /**
   * Sends at most two requests for other paths: an answer to one tells a path that fails alone from an
   * outage. The gate sends them after a call's last try, and before a failed answer shuts the gate. Scheduled
   * work sends them only before the gate is shut, and a check never.
   */
  readonly elsewhere?: (() => Promise<unknown>) | undefined;
}

/** A call whose last request has failed. */
export interface FailedCall {
  readonly last: Failure;
  readonly requestId: number;
  readonly requests: number;
  /** When its first request failed, monotonic ms. */
  readonly failedSince: number;
  readonly elsewhere: Exchange<unknown>['elsewhere'];
}

/** The last failure of a call that is not retried. */
export interface LastFailure {
  readonly cause: string;
  /** True if it is a 429. */
  readonly is429: boolean;
  /** True if it is a 429 for this path alone. */
  readonly isPathAlone: boolean;
  /** The service asks to wait for this long (ms); 0: it does not ask. */
  readonly askedMs: number;
  /** Epoch ms. */
  readonly now: number;
}
