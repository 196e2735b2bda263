import type { Difference } from '../../core/diff.ts';
import type { ListKey } from '../../core/lists.ts';
import type { Dialect } from '../../database/dialect.ts';
import type { FencedSql } from '../lease.ts';

/** One difference of an item. `previouslySeenAt` is ISO 8601; null if no earlier sighting is stored. */
export interface Change extends Difference {
  readonly itemId: string;
  readonly previouslySeenAt: string | null;
}

const FIELDS = {
  item_id: 'text',
  field: 'text',
  old_value: 'text',
  new_value: 'text',
  previously_seen_at: 'instant',
  item_values: 'json',
} as const;

/** Writes changes in their order, with one statement, in the writer's epoch. */
export async function writeChanges(
  tx: FencedSql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  changes: readonly Change[],
  { sweepId, observedAt }: { sweepId: number; observedAt: string },
): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(({ itemId, field, from, to, previouslySeenAt, values }) => ({
    item_id: itemId,
    field,
    old_value: from,
    new_value: to,
    previously_seen_at: previouslySeenAt,
    item_values: values === undefined ? null : JSON.stringify(values),
  }));
  await tx.epoch.around(tx, observedAt, async () => {
    await tx.execute(
      `INSERT INTO changes (observed_at, list, inbox_id, sweep_id,
         item_id, field, old_value, new_value, previously_seen_at, item_values)
       SELECT $1, $2, $3, $4, item_id, field, old_value, new_value, previously_seen_at, item_values
       FROM ${dialect.records('$5', FIELDS, 'new_changes')}`,
      observedAt,
      list,
      inboxId,
      sweepId,
      JSON.stringify(rows),
    );
  });
}
