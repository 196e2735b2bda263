import { MINUTE } from '../../core/clock.ts';
import { isMirrorError } from '../../core/errors.ts';
import { listId, type ListKey } from '../../core/lists.ts';
import type { Side } from '../../mirror/items/suspects/suspects.ts';
import type { CallOptions } from '../../service/client.ts';
import type { SweepDeps } from '../deps.ts';

type Deps = Pick<SweepDeps, 'client' | 'mirror' | 'clock'>;

/**
 * Whether the service returns a row by its id that the list shows. If it does not, or if the list shows no
 * other row, a 404 for an id says nothing.
 */
export type Control = 'returned' | 'not-returned' | 'no-other-row';

/**
 * After `not-returned`, a list asks no control question for this many ms. A row that was returned is never
 * remembered: the next moment the route may be broken.
 */
const NOT_RETURNED_MS = 10 * MINUTE;

/** For each mirror and list: until when `not-returned` is its answer, in ms of the monotonic clock. */
const NOT_RETURNED = new WeakMap<object, Map<string, number>>();

/**
 * Asks the control question, for up to three rows that the list shows.
 * @param near the id of a suspect: its neighbours are asked for, so that each suspect has other ones, which
 *   no cache knows
 * @param side of the neighbour that is asked for first
 * @throws MirrorError
 */
export async function control(
  deps: Deps,
  key: ListKey,
  { near, side }: { near: string; side: Side },
  options: CallOptions,
): Promise<Control> {
  const { client, mirror, clock } = deps;
  const notReturned = NOT_RETURNED.get(mirror) ?? new Map<string, number>();
  NOT_RETURNED.set(mirror, notReturned);
  if (clock.monotonic() < (notReturned.get(listId(key)) ?? -Infinity)) return 'not-returned';
  const examples = await mirror.suspects.listedExamples(key, near, side);
  if (examples.length === 0) return 'no-other-row';
  for (const id of examples) if (await isReturned(client, key, id, options)) return 'returned';
  notReturned.set(listId(key), clock.monotonic() + NOT_RETURNED_MS);
  return 'not-returned';
}

async function isReturned(
  client: Deps['client'],
  { inboxId }: ListKey,
  id: string,
  options: CallOptions,
): Promise<boolean> {
  try {
    const found =
      inboxId === null
        ? await client.getInbox(id, options)
        : await client.getConversation(inboxId, id, options);
    // The service also accepts thread ids, so it may return another conversation.
    return found?.item.id === id;
  } catch (error) {
    // Withdrawn access to one inbox says nothing of the others.
    if (isMirrorError(error, 'LIST_FORBIDDEN')) return false;
    throw error;
  }
}
