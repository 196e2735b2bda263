import { LIST_NAMES, type ListName } from '../../core/lists.ts';

/** The lists of a pass: kinds of list, of one inbox or (`inboxId` null) of all. */
export interface Scope {
  readonly lists: readonly ListName[];
  readonly inboxId: string | null;
}

/** The kinds as `sync_requests.lists` stores them: equal kinds give equal text, whatever their order. */
export function listsText({ lists }: Pick<Scope, 'lists'>): string {
  return JSON.stringify(LIST_NAMES.filter((list) => lists.includes(list)));
}

/** True if the scope includes the lists of this inbox; null stands for all inboxes. */
export function coversInbox({ inboxId }: Pick<Scope, 'inboxId'>, id: string | null): boolean {
  return inboxId === null || inboxId === id;
}
