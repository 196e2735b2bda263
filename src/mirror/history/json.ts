import type { ChangeRecord } from './read.ts';

/**
 * A change under its columns' names (docs/commands.md). The command `changes`, GET /changes and the webhook
 * share this form.
 */
export function changeAsJson(change: ChangeRecord): Record<string, string | number | null> {
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

/** One JSON object a line. */
export function asNdjson(changes: readonly ChangeRecord[]): string {
  return changes.map((change) => `${JSON.stringify(changeAsJson(change))}\n`).join('');
}
