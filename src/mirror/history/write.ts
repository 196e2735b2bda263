import { type Difference, MISSING, PRESENCE } from '../../core/diff.ts';
import type { ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';

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
} as const;

/** Writes changes in their order, with one statement. */
export async function writeChanges(
  sql: Sql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  changes: readonly Change[],
  { sweepId, observedAt }: { sweepId: number; observedAt: string },
): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(({ itemId, field, from, to, previouslySeenAt }) => ({
    item_id: itemId,
    field,
    old_value: from,
    new_value: to,
    previously_seen_at: previouslySeenAt,
  }));
  await sql.execute(
    `INSERT INTO changes (observed_at, list, inbox_id, sweep_id,
       item_id, field, old_value, new_value, previously_seen_at)
     SELECT $1, $2, $3, $4, item_id, field, old_value, new_value, previously_seen_at
     FROM ${dialect.records('$5', FIELDS, 'new_changes')}`,
    observedAt,
    list,
    inboxId,
    sweepId,
    JSON.stringify(rows),
  );
}

/** When each returning item was last seen before it went missing: ISO 8601, by id. */
export async function sightingsBeforeLoss(
  sql: Sql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<{ item_id: string; previously_seen_at: Date }>(
    `SELECT item_id, previously_seen_at FROM changes
     WHERE list = $1 AND inbox_id IS NOT DISTINCT FROM $2
       AND ${dialect.oneOfFew('item_id', `SELECT value FROM ${dialect.texts('$3', 'ids')}`)}
       AND field = '${PRESENCE}' AND new_value = '${MISSING}' AND previously_seen_at IS NOT NULL
     ORDER BY id`,
    list,
    inboxId,
    JSON.stringify(ids),
  );
  return new Map(rows.map((row) => [row.item_id, row.previously_seen_at.toISOString()]));
}
