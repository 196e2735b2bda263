import type { Clock } from '../core/clock.ts';
import type { Reason } from '../core/ledger.ts';
import type { Store } from '../mirror/mirror.ts';
import type { Client } from '../service/client.ts';
import type { PassEvent } from './events.ts';

export interface SweepDeps {
  readonly client: Client;
  readonly store: Store;
  readonly clock: Clock;
  readonly onEvent: (event: PassEvent) => void;
  readonly signal: AbortSignal;
}

export interface SweepOptions {
  readonly reason: Reason;
  readonly acceptDeletes: boolean;
}

export interface Tally {
  inserted: number;
  changed: number;
  deleted: number;
}
