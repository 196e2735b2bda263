import type { Item, ListKey } from '../core/lists.ts';
import type { CallOptions, Client } from '../service/client.ts';
import type { Suspect } from '../store/suspects.ts';

/** Suspects of one sweep that are asked for singly; more than that would waste requests (DESIGN.md, "Sweeps"). */
export const MOST_ASKED = 20;

/**
 * Asks the service for one suspect: the item where it is there, null where it is not, `unknown` where the service cannot be
 * asked for it or its answer leaves it open.
 */
export async function askFor(
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
