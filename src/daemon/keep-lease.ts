import type { Clock } from '../core/clock.ts';
import { isMirrorError } from '../core/errors.ts';
import type { Lease } from '../store/leases.ts';
import type { Sql } from '../store/sql.ts';

const HEARTBEAT_MS = 10_000;

/** Renews the lease until `stop`, also through hours of waiting for budget. `lost` is aborted when another process has taken it over. */
export function keepLease(
  lease: Lease,
  { database, clock }: { database: Sql; clock: Clock },
): { lost: AbortSignal; stop(): void } {
  const lost = new AbortController();
  const stopped = new AbortController();
  const beat = async (): Promise<void> => {
    while (!lost.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, stopped.signal);
      await lease.renew(database).catch((error: unknown) => {
        // A database that is busy for a moment is no lost lease: the next beat, or the next page, will tell.
        if (isMirrorError(error, 'LEASE_LOST')) lost.abort(error);
      });
    }
  };
  // Its only way to fail is to be stopped.
  beat().catch(() => undefined);
  return { lost: lost.signal, stop: () => stopped.abort() };
}
