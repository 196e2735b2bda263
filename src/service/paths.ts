import type { ListKey } from '../core/lists.ts';

/** The list of inboxes: a 403 for it refuses the key, a 403 for another path only that path. */
export const KEY_PATH = '/inboxes';

export function inboxPath(inboxId: string): string {
  return `/inboxes/${encodeURIComponent(inboxId)}`;
}

export function listPath({ list, inboxId }: ListKey): string {
  return inboxId === null ? KEY_PATH : `${inboxPath(inboxId)}/${list}`;
}
