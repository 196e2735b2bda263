import { isMirrorError, type MirrorError } from '../../core/errors.ts';
import { type Item, type ListKey, SEARCHED_BY } from '../../core/lists.ts';
import type { Suspect } from '../../mirror/items/suspects/suspects.ts';
import type { CallOptions, Client, Found } from '../../service/client.ts';

/** The service's answer for one suspect. `open`: it proves neither presence nor absence. */
export type Answer =
  | { readonly kind: 'there'; readonly item: Item }
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'open';
      readonly refusal?: string;
      /** The answer could not be used at all: perhaps none can. */
      readonly fault?: MirrorError;
      /** The search has further rows, which were not read. */
      readonly isPartial?: boolean;
    };

const GONE: Answer = { kind: 'gone' };
const OPEN: Answer = { kind: 'open' };
const PARTIAL: Answer = { kind: 'open', isPartial: true };

/** True if the service can be asked for the list's items by their ids. */
export function byIdentity({ list }: ListKey): boolean {
  return SEARCHED_BY[list] === null;
}

/**
 * Asks the service for one suspect: an inbox or a conversation by its id, a user by the e-mail address and a
 * tag by the name that the mirror knows. Only an id proves that a row is gone: the others may have changed.
 * @throws MirrorError
 */
export async function askFor(
  client: Client,
  key: ListKey,
  suspect: Suspect,
  options: CallOptions,
): Promise<Answer> {
  try {
    return await ask(client, key, suspect, options);
  } catch (error) {
    // Withdrawn access is no absence.
    if (isMirrorError(error, 'LIST_FORBIDDEN')) return { kind: 'open', refusal: error.message };
    throw error;
  }
}

async function ask(
  client: Client,
  { list, inboxId }: ListKey,
  suspect: Suspect,
  options: CallOptions,
): Promise<Answer> {
  if (list === 'inboxes') return answerOf(await client.getInbox(suspect.id, options), suspect);
  if (inboxId === null) return OPEN;
  if (list === 'conversations')
    return answerOf(await client.getConversation(inboxId, suspect.id, options), suspect);
  if (!suspect.askBy) return OPEN;
  const { items, complete } = await client.search({ list, inboxId }, suspect.askBy, options);
  const item = items.find(({ id }) => id === suspect.id);
  if (item !== undefined) return { kind: 'there', item };
  return complete ? OPEN : PARTIAL;
}

/** Compares the id: the service also accepts thread ids, so it may return another conversation. */
function answerOf(found: Found, { id }: Suspect): Answer {
  if (found === null) return GONE;
  return found.item.id === id ? { kind: 'there', item: found.item } : OPEN;
}

/**
 * True if the service cannot answer for a row; the suspects then wait for the next complete sweep.
 *
 * A request that fails pauses the sweep once, because an outage may be the cause. The second time the sweep
 * completes: an item whose requests always fail must not keep its list incomplete.
 *
 * @param askedBefore an earlier run of the sweep had already read all pages
 */
export function isNoWitness(error: unknown, askedBefore: boolean): error is MirrorError {
  if (isMirrorError(error, 'REQUEST_REFUSED', 'BAD_ANSWER')) return true;
  // The list, whose pages the service answers, would rest for as long as the answer asks to wait.
  if (isMirrorError(error, 'ANSWER_FAILED') && error.resumeAt !== undefined) return true;
  return askedBefore && isMirrorError(error, 'ANSWER_FAILED', 'SERVICE_DOWN');
}

/**
 * True if a question drew a 429, or could not be sent for the second time because the gate is
 * shut. Its sweep becomes complete, because its questions would otherwise keep all lists from being read; but
 * the suspects stay: a question that was not answered acquits none.
 * @param askedBefore an earlier run of the sweep had already read all pages
 */
export function isThrottledQuestion(error: unknown, askedBefore: boolean): error is MirrorError {
  if (!isMirrorError(error, 'GATE_PAUSED', 'ANSWER_FAILED')) return false;
  return error.status === 429 || (askedBefore && error.code === 'GATE_PAUSED');
}
