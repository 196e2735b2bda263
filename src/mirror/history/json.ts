import type { ChangeRecord } from './read.ts';

/** A JSON object of a change: `item_values` and the names of its ids are objects, the rest is plain. */
export type ChangeJson = Readonly<Record<string, string | number | object | null>>;

/** A change under its columns' names. `items/names.ts` adds the names that people know. */
export function changeAsJson(change: ChangeRecord): ChangeJson {
  return {
    id: change.id,
    observed_at: change.observedAt.toISOString(),
    previously_seen_at: change.previouslySeenAt?.toISOString() ?? null,
    list: change.list,
    inbox_id: change.inboxId,
    item_id: change.itemId,
    field: change.field,
    old_value: change.oldValue,
    new_value: change.newValue,
    cursor: change.cursor,
  };
}
