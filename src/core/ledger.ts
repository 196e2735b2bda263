import type { LedgerTime } from './clock.ts';
import type { GateState } from './gate-state.ts';
import type { ListName } from './lists.ts';

/** Why a request is sent (docs/tables.md, `requests`). */
export type Reason = 'schedule' | 'page' | 'manual' | 'resync' | 'probe';

/** The reasons of what schedules alone cause: pages of whole lists, and single pages. */
export const SCHEDULED_REASONS: readonly Reason[] = ['schedule', 'page'];

/** A request's record before it leaves. `path` is relative to the base address and has no query. */
export interface RequestEntry {
  readonly method: string;
  readonly path: string;
  readonly list: ListName | null;
  readonly inboxId: string | null;
  readonly reason: Reason;
}

/** The end of a request, for the ledger. `status` is null without an answer. */
export interface Outcome {
  readonly status: number | null;
  readonly durationMs: number;
  readonly items: number | null;
  readonly error: string | null;
  /** The service's clock: the `Date` of its answer; null without one. */
  readonly serviceAt: Date | null;
}

/** The limits that a slot must obey. */
export interface SlotLimits {
  /** Least number of milliseconds between two arrivals at the service, at the full rate. */
  readonly gapMs: number;
  /** Milliseconds to wait after the start of an unanswered request, because its arrival is unknown. */
  readonly unansweredMs: number;
  /** No slot if the budget's window already holds this many requests. */
  readonly cap: number;
  /** Names the key and the address. No slot if the service refused this key at this address. */
  readonly access: string;
  /** Ledger ids of this process's recent requests. The process itself keeps its distance from them. */
  readonly ownIds: readonly number[];
  /** The boot of the machine in the time that this process gives, epoch ms; null if there is none. */
  readonly bootAt: number | null;
}

/** A slot, or the reason for none and the milliseconds to wait before the next attempt. */
export type Grant =
  /**
   * `isTrial`: a pause has expired but not ended. A good answer to this request ends it. `slowdown`: as in
   * `GateState`.
   */
  | { readonly granted: true; readonly id: number; readonly isTrial: boolean; readonly slowdown: number }
  | {
      readonly granted: false;
      /**
       * `trial`: the request after a pause is under way. `clock`: another process has followed another clock
       * since; the ledger must follow again.
       */
      readonly because: 'spacing' | 'pause' | 'trial' | 'budget' | 'key' | 'clock';
      readonly waitMs: number;
    };

/** A row of the ledger: its id, and epoch ms. */
export interface LedgerRow {
  readonly id: number;
  readonly sentAt: number;
}

/** How much of a cap is unused in the window of the day's budget. */
export interface BudgetLeft {
  /** Requests; negative if the window holds more than the cap. */
  readonly left: number;
  /** Milliseconds until the ledger allows one request more than now, or the first one if none is left. */
  readonly freesInMs: number;
}

/** The gate's state after a 429. `alone`: only this path draws 429s, while the account's limits are kept. */
export interface Paused extends GateState {
  readonly alone: boolean;
}

/** The durable record that all processes of a mirror share. The mirror stores it, the gate writes to it. */
export interface Ledger {
  /** Records the request and grants it a slot in one atomic statement, or does neither. `now` in epoch ms. */
  grant(entry: RequestEntry, limits: SlotLimits, now: number): Promise<Grant>;
  /** Counts the requests of all processes in the window that ends at `now`, in epoch ms. */
  budgetLeft(cap: number, now: number): Promise<BudgetLeft>;
  /** Records the end of a request. */
  settle(id: number, outcome: Outcome): Promise<void>;
  /** Deletes the record of a request that was granted, and that the caller will never send. */
  withdraw(id: number): Promise<void>;
  gateState(): Promise<GateState>;
  /**
   * Pauses the gate after a 429. `until` returns epoch ms; `alone`: only this path or kind of question draws
   * 429s. Changes nothing and returns null if the request left before the last pause began. `dayLimit`: the
   * mirror's requests in the window, if the service refused this one for its limit of the day although the
   * mirror had kept it. Then the gap does not grow.
   */
  pauseGate(
    requestId: number,
    until: (strikes: number, alone: boolean) => number,
    cause: string,
    now: number,
    dayLimit?: number | null,
  ): Promise<Paused | null>;
  /**
   * Pauses the gate until an instant (epoch ms) for which a failed answer has asked, and forgets the strikes:
   * the pause is for no 429. A longer pause stays as it is. Does nothing if other answers show that the
   * service is up, because then only this request's path fails. `requestId` null: others have failed too.
   * @returns false if only this path fails
   */
  pauseForFailure(requestId: number | null, until: number, cause: string, now: number): Promise<boolean>;
  /**
   * Ends pause and breaker if the request left after the pause had expired. The strikes fade later.
   * @returns whether it did so
   */
  endPause(requestId: number): Promise<boolean>;
  /**
   * Shortens the gap between requests after a good answer, unless a pause has not ended. `now` in epoch ms.
   * @returns the slowdown, as in `GateState`
   */
  ease(now: number): Promise<number>;
  /**
   * Ends pause and breaker, forgets strikes, slowdown and limit of the day, allows a refused key, makes the
   * retry of an outage and of each list due: for a person who resets the gate. `now` in epoch ms.
   * @returns the number of lists whose wait it ended
   */
  openGate(now: number): Promise<number>;
  /** Shuts the gate for this access, whose key the service refused on this host. `now` in epoch ms. */
  refuseKey(access: string, cause: string, now: number): Promise<void>;
  /** The last refusal of this access; null if none is stored. */
  lastRefusal(access: string): Promise<Refusal | null>;
  /** Allows this access again, for a person who runs a command. */
  allowKey(access: string): Promise<void>;
  /**
   * Allows this access again for a command of cron, unless a host was refused with it less than an hour ago,
   * or this host was and another one waits. `now` in epoch ms.
   */
  retryKey(access: string, now: number): Promise<void>;
  /** Opens the gate if it is shut for another access, which stays refused for its hour. */
  clearOtherRefusal(access: string): Promise<void>;
  /**
   * Shifts stored instants after the wall clock was set, so that it neither unlocks nor blocks requests.
   * After a boot, requests are as old as they were at the last call, and the time of this run.
   * @returns true if requests may be older: an answer of the service can confirm it
   */
  followClock(time: LedgerTime): Promise<boolean>;
  /**
   * Compares the time that the machine was off, as its clock has it, with the service's clock in the answer
   * to this request. Requests age by the shorter one.
   * @param now when the answer arrived, epoch ms
   * @returns null if nothing was in doubt
   */
  confirmClock(requestId: number, now: number): Promise<Confirmation | null>;
}

/** A key that the service refused: on which host, and when. */
export interface Refusal {
  readonly host: string;
  readonly at: Date;
  /** Until then no command of cron sends the key. */
  readonly until: Date;
}

/** The service's clock on the time that the machine was off. */
export interface Confirmation {
  /** The time off in ms, by the machine's clock. */
  readonly claimedMs: number;
  /** The same by the service's clock; null if it gave no time before or now, or one before its last. */
  readonly confirmedMs: number | null;
}
