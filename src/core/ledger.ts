import type { GateState } from './gate-state.ts';
import type { ListName } from './lists.ts';

/** Why a request is sent (DESIGN.md, "Tables"). */
export type Reason = 'schedule' | 'manual' | 'resync' | 'probe';

/** What the ledger notes of a request before it leaves. `path` is relative to the base address and has no query. */
export interface RequestEntry {
  readonly method: string;
  readonly path: string;
  readonly list: ListName | null;
  readonly inboxId: string | null;
  readonly reason: Reason;
}

/** What the ledger notes when a request has come to its end. `status` is null where no answer came. */
export interface Outcome {
  readonly status: number | null;
  readonly durationMs: number;
  readonly items: number | null;
  readonly error: string | null;
}

/** The limits that a slot must keep to. */
export interface SlotLimits {
  /** Milliseconds between two arrivals at the service. */
  readonly gapMs: number;
  /** Milliseconds to keep away from the start of a request whose arrival nobody knows. */
  readonly unansweredMs: number;
  /** Requests in any 24 hours that this request may bring the account to. */
  readonly cap: number;
  /** The key's fingerprint: a gate that was shut for it stays shut. */
  readonly key: string;
  /** Ledger ids of this process's own recent requests, whose spacing it knows better than the ledger. */
  readonly own: readonly number[];
}

/** A slot, or why not and how many milliseconds to wait before asking again. */
export type Grant =
  /** `probe`: sent while a pause has run out but not ended; a good answer to it ends the pause. */
  | { readonly granted: true; readonly id: number; readonly probe: boolean }
  | {
      readonly granted: false;
      readonly because: 'spacing' | 'pause' | 'probe' | 'budget' | 'key';
      readonly waitMs: number;
    };

/** The durable record that every process of a mirror shares. The store keeps it, the gate debits it. */
export interface Ledger {
  /** Notes the request and grants it a slot, in one atomic statement, or grants none. `now` in epoch ms. */
  grant(entry: RequestEntry, limits: SlotLimits, now: number): Promise<Grant>;
  settle(id: number, outcome: Outcome): Promise<void>;
  state(): Promise<GateState>;
  /** Pauses the gate after a 429. Null, and nothing changed, where the request was under way already when the last pause began. */
  pause(
    requestId: number,
    until: (strikes: number) => number,
    cause: string,
    now: number,
  ): Promise<GateState | null>;
  /** Ends pause and breaker where the request was sent after the pause had run out. @returns whether it did */
  endPause(requestId: number): Promise<boolean>;
  /** Ends pause and breaker and lets a refused key try again, by hand. */
  open(): Promise<void>;
  /** Shuts the gate for a key that the service refused. */
  refuseKey(key: string, cause: string, now: number): Promise<void>;
  /** Lets a refused key try again: a person asked for it. */
  allowKey(): Promise<void>;
  /** Moves the ledger's instants along when the wall clock was set, so that no setting of it unlocks or blocks anything. */
  followClock(boot: { host: string; id: string; at: number }, now: number): Promise<void>;
}
