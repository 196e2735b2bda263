import { isMirrorError } from '../core/errors.ts';
import type { ListKey } from '../core/lists.ts';
import type { Store } from '../mirror/mirror.ts';
import type { Sweep } from '../mirror/sweeps/sweeps.ts';
import type { SweepDeps, SweepOptions, Tally } from './deps.ts';
import type { ListReport } from './events.ts';
import { settleSuspects } from './suspects.ts';
import { walk } from './walk.ts';

/**
 * Walks one list to its end, from where its open sweep stands: every page applied, then the suspects settled.
 * @throws whatever stopped it; the sweep is left `paused` with its token, or `failed` where going on would not help
 */
export async function sweepList(deps: SweepDeps, key: ListKey, options: SweepOptions): Promise<ListReport> {
  const { store, clock, onEvent } = deps;
  let sweep = await store.openSweep(key, options.reason, clock.now());
  const askedBefore = sweep.walked;
  const tally: Tally = { inserted: 0, changed: 0, deleted: 0 };
  onEvent({ kind: 'list-begun', key, resumedAtPage: sweep.pages });
  try {
    sweep = await walk(deps, sweep, options.reason, tally);
    await settleSuspects(deps, sweep, { ...options, askedBefore }, tally);
    await store.finishSweep(sweep, clock.now());
  } catch (error) {
    await leave(store, sweep, error, clock.now());
    throw error;
  }
  return {
    key,
    outcome: 'complete',
    items: sweep.items,
    ...tally,
    rejected: sweep.rejected,
    suspects: await store.countSuspects(key),
    error: null,
  };
}

/** What stops a whole program for a while leaves the sweep to go on; what is wrong with this list ends it. */
async function leave(store: Store, sweep: Sweep, error: unknown, now: number): Promise<void> {
  if (isMirrorError(error, 'LEASE_LOST')) return;
  const hopeless = isMirrorError(error, 'REQUEST_REFUSED', 'TOKEN_REFUSED', 'BAD_ANSWER', 'ENDLESS_LIST');
  const message = error instanceof Error ? error.message : String(error);
  await store.endSweep(sweep.id, hopeless ? 'failed' : 'paused', message, now).catch(() => undefined);
}
