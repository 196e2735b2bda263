import { isMirrorError, type MirrorError } from '../core/errors.ts';
import type { Item, ListKey } from '../core/lists.ts';
import type { Suspect } from '../mirror/items/suspects.ts';
import type { Sweep } from '../mirror/sweeps/sweeps.ts';
import type { CallOptions, Client } from '../service/client.ts';
import type { SweepDeps, SweepOptions, Tally } from './deps.ts';

/** Suspects of one sweep that are asked for singly; more than that would waste requests (DESIGN.md, "Sweeps"). */
const MOST_ASKED = 20;

/**
 * Asks the service for one suspect: the item where it is there, null where it is not, `unknown` where the service cannot be
 * asked for it or its answer leaves it open.
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
    // An answer under another id is no answer to our question.
    return item === null || item.id === suspect.id ? item : 'unknown';
  }
  if (!suspect.askBy) return 'unknown';
  const { found, complete } = await search(client, list, inboxId, suspect.askBy, options);
  return found.find(({ id }) => id === suspect.id) ?? (complete ? null : 'unknown');
}

async function search(
  client: Client,
  list: 'users' | 'tags',
  inboxId: string,
  by: string,
  options: CallOptions,
): Promise<{ found: Item[]; complete: boolean }> {
  if (list === 'tags') {
    const { tags, complete } = await client.searchTags(inboxId, by, options);
    return { found: tags, complete };
  }
  const { users, complete } = await client.searchUsers(inboxId, by, options);
  return { found: users, complete };
}

export async function settleSuspects(
  deps: SweepDeps,
  sweep: Sweep,
  { reason, acceptDeletes, askedBefore }: SweepOptions & { askedBefore: boolean },
  tally: Tally,
): Promise<void> {
  const { store, clock, onEvent } = deps;
  const { suspects, deleted } = await store.closeWalk(sweep, { acceptDeletes, now: clock.now() });
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
 * True where the service answers this kind of question in no usable way: the suspects then wait for the next complete sweep. An outage may
 * pass, so the sweep first pauses; but an item that breaks the service each time it is asked for must not keep its list from ever completing.
 */
function isNoWitness(error: unknown, askedBefore: boolean): error is MirrorError {
  return (
    isMirrorError(error, 'REQUEST_REFUSED', 'BAD_ANSWER') ||
    (askedBefore && isMirrorError(error, 'ANSWER_FAILED', 'SERVICE_DOWN'))
  );
}

async function settleOne(
  { client, store, clock, onEvent, signal }: SweepDeps,
  sweep: Sweep,
  suspect: Suspect,
  { scheduled, tally }: { scheduled: boolean; tally: Tally },
): Promise<void> {
  // A command's own asking goes before scheduled sweeps, but not before another person's command.
  const answer = await askFor(client, sweep, suspect, { reason: 'probe', scheduled, signal });
  if (answer === 'unknown') return;
  const changed = await store.settleSuspect(sweep, suspect, { found: answer, now: clock.now() });
  const tombstoned = answer === null ? 1 : 0;
  tally.changed += changed;
  tally.deleted += tombstoned;
  onEvent({ kind: 'rows', key: sweep, rows: { changed, tombstoned } });
}
