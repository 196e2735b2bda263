import { isMirrorError, messageOf, type Reach, reachOf } from '../core/errors.ts';
import type { ListKey } from '../core/lists.ts';
import type { Writer } from '../mirror/mirror.ts';
import type { Sweep } from '../mirror/sweeps/sweeps.ts';
import type { SweepDeps, SweepOptions, Tally } from './deps.ts';
import type { ListReport } from './events.ts';
import { walk } from './pages/walk.ts';
import { settleSuspects } from './witnesses/suspects.ts';

/**
 * Sweeps one list to its end: applies every page from the open sweep's next one, or from the first one if the
 * open sweep is stuck. Then settles the suspects.
 * @throws the error that stopped it. The sweep is then `paused` with its token, or `failed` if resuming it
 *   would not help.
 */
export async function sweepList(deps: SweepDeps, key: ListKey, options: SweepOptions): Promise<ListReport> {
  const { mirror, clock, onEvent, signal } = deps;
  let sweep = await mirror.sweeps.open(key, options.reason, clock.now());
  if (sweep.pages > 0 && !sweep.walked && (await mirror.sweeps.isStuck(sweep)))
    sweep = await mirror.sweeps.replace(sweep, options.reason, clock.now());
  const askedBefore = sweep.walked;
  const { pages, restarts, startedAt } = sweep;
  let held = 0;
  const tally: Tally = { inserted: 0, changed: 0, deleted: 0 };
  onEvent({ kind: 'list-begun', key, resumedAtPage: sweep.pages });
  try {
    // Another account knows none of the suspects' ids, unless they are its own (`doubtOf`). A
    // list with pages left is compared only before its first page.
    if (sweep.walked) await deps.account.prove(deps.client, { reason: options.reason, signal });
    sweep = await walk(deps, sweep, options, tally);
    // A walk that has restarted has read every page in this run.
    const hasRestarted = sweep.restarts > restarts || sweep.startedAt > startedAt;
    const isResumed = pages > 0 && !hasRestarted;
    held = await settleSuspects(deps, sweep, { ...options, askedBefore, isResumed }, tally);
    await mirror.sweeps.complete(sweep, clock.now());
  } catch (error) {
    if (!isMirrorError(error) && !signal.aborted) onEvent({ kind: 'fault', key, error });
    await endAfterError(mirror, sweep, { error, reach: reachIn(error, signal) }, clock.now());
    throw error;
  }
  return {
    key,
    outcome: 'complete',
    items: sweep.items,
    ...tally,
    rejected: sweep.rejected,
    withoutId: sweep.withoutId,
    suspects: await mirror.suspects.count(key),
    held,
    error: null,
  };
}

/** Ends a sweep after an error: as `failed` if the error ends the list, else as `paused`. */
async function endAfterError(
  mirror: Writer,
  sweep: Sweep,
  { error, reach }: { error: unknown; reach: Reach },
  now: number,
): Promise<void> {
  if (isMirrorError(error, 'LEASE_LOST')) return;
  const why = {
    error: messageOf(error),
    code: isMirrorError(error) ? error.code : null,
    // Other errors can have such a time too, but a pause of the gate is not about this list.
    retryAt: isMirrorError(error, 'ANSWER_FAILED') ? (error.resumeAt ?? null) : null,
  };
  await mirror.sweeps.end(sweep.id, reach === 'list' ? 'failed' : 'paused', why, now).catch(() => undefined);
}

/** How much of a pass the error ends. A signal stops all of it, whatever the signal's reason. */
export function reachIn(error: unknown, signal: AbortSignal): Reach {
  return signal.aborted ? 'pass' : reachOf(error);
}
