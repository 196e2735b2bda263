import type { ListKey } from '../../core/lists.ts';

export type GateEvent =
  /** A pause begins, or a request begins to wait for one that another process began. */
  | { readonly kind: 'paused' | 'breaker'; readonly cause: string; readonly until: Date }
  /** The next request leaves later, because 429s have lengthened the gap between requests. */
  | { readonly kind: 'slowed'; readonly until: Date }
  /** The day's budget is spent until then, and a request waits for it. */
  | { readonly kind: 'spent'; readonly until: Date }
  /** The service's day was full when this mirror had sent `sent` requests, fewer than its budget. */
  | { readonly kind: 'day-full'; readonly cause: string; readonly sent: number }
  | { readonly kind: 'opened' }
  /** A request failed and is sent again. `key`: its list; null: it asked for no list. */
  | {
      readonly kind: 'retry';
      readonly key: ListKey | null;
      readonly cause: string;
      readonly waitMs: number;
      readonly failure: number;
    }
  | { readonly kind: 'key-refused'; readonly cause: string }
  /** The machine's clock and the service's disagree about the time that the machine was off. */
  | { readonly kind: 'clock'; readonly cause: string };

/** A finished request. `status` is null without an answer; `waitedMs` is its time at the gate. */
export interface RequestEnd {
  readonly status: number | null;
  readonly waitedMs: number;
  readonly durationMs: number;
}
