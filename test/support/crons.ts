import type { ListName } from '../../src/core/lists.ts';
import { type Cron, cronsOf } from '../../src/sync/planning/cron.ts';

/** The slots of a schedule of conversations in a time zone, and of one of the other lists: by default it. */
export function cronsOfAll(
  conversations: string,
  { others = conversations, timezone = 'UTC' } = {},
): Record<ListName, Cron> {
  return cronsOf({ inboxes: others, users: others, tags: others, conversations }, timezone);
}
