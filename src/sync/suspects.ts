import { isMirrorError, type MirrorError } from '../core/errors.ts';
import type { Item, ListKey } from '../core/lists.ts';
import type { Suspect } from '../mirror/items/suspects.ts';
import type { Sweep } from '../mirror/sweeps/sweeps.ts';
import type { CallOptions, Client } from '../service/client.ts';
import type { SweepDeps, SweepOptions, Tally } from './deps.ts';

/** At most 20 suspects of a sweep are asked for; with more, none is, because each costs a request. */
const MOST_ASKED = 20;

/**
 * Asks the service for one suspect (docs/decisions/0010).
 * @returns the item if it exists; null if it is gone; `unknown` if the service cannot be asked for it, or
 *   if its answer proves neither
 */
async function askFor(
  client: Client,
  { list, inboxId }: ListKey,
  suspect: Suspect,
  options: CallOptions,
): Promise<Item | null | 'unknown'> {
  if (list === 'inboxes') return (await client.getInbox(suspect.id, options))?.item ?? null;
  if (inboxId === null) return 'unknown';
  if (list === 'conversations') {
    const item = (await client.getConversation(inboxId, suspect.id, options))?.item ?? null;
    // Compare the id: the service also accepts thread ids, so it may return another conversation.
    return item === null || item.id === suspect.id ? item : 'unknown';
  }
  if (!suspect.askBy) return 'unknown';
  const { items, complete } = await client.search({ list, inboxId }, suspect.askBy, options);
  return items.find(({ id }) => id === suspect.id) ?? (complete ? null : 'unknown');
}

/**
 * Closes a sweep's walk, then asks the service for each suspect if there are at most 20.
 * @param askedBefore an earlier run of this sweep had already read all pages
 * @throws MirrorError
 */
export async function settleSuspects(
  deps: SweepDeps,
  sweep: Sweep,
  { reason, acceptDeletes, askedBefore }: SweepOptions & { askedBefore: boolean },
  tally: Tally,
): Promise<void> {
  const { mirror, clock, onEvent } = deps;
  const { suspects, deleted } = await mirror.suspects.closeWalk(sweep, { acceptDeletes, now: clock.now() });
  tally.deleted += deleted;
  onEvent({ kind: 'rows', key: sweep, rows: { tombstoned: deleted } });
  if (suspects.length === 0 || suspects.length > MOST_ASKED) return;
  onEvent({ kind: 'asking', key: sweep, suspects: suspects.length });
  try {
    for (const suspect of suspects)
      await settleOne(deps, sweep, suspect, { scheduled: reason === 'schedule', tally });
  } catch (error) {
    if (!isNoWitness(error, askedBefore)) throw error;
    onEvent({ kind: 'asking-ended', key: sweep, cause: error.message });
  }
}

/**
 * True if the service cannot answer for a suspect; the suspects then wait for the next complete sweep.
 *
 * A request that fails pauses the sweep once, because an outage may be the cause. The second time the sweep
 * completes: an item whose requests always fail must not keep its list incomplete.
 */
function isNoWitness(error: unknown, askedBefore: boolean): error is MirrorError {
  return (
    isMirrorError(error, 'REQUEST_REFUSED', 'BAD_ANSWER') ||
    (askedBefore && isMirrorError(error, 'ANSWER_FAILED', 'SERVICE_DOWN'))
  );
}

async function settleOne(
  { client, mirror, clock, onEvent, signal }: SweepDeps,
  sweep: Sweep,
  suspect: Suspect,
  { scheduled, tally }: { scheduled: boolean; tally: Tally },
): Promise<void> {
  // A probe has priority over scheduled sweeps, but not over a command's pages.
  const answer = await askFor(client, sweep, suspect, { reason: 'probe', scheduled, signal });
  if (answer === 'unknown') return;
  const changed = await mirror.suspects.settle(sweep, suspect, { found: answer, now: clock.now() });
  const tombstoned = answer === null ? 1 : 0;
  tally.changed += changed;
  tally.deleted += tombstoned;
  onEvent({ kind: 'rows', key: sweep, rows: { changed, tombstoned } });
}
