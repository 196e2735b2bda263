import type { Known } from '../../core/diff.ts';
import type { Item, ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';

interface Link {
  readonly conversation_id: string;
  readonly tag_id: string;
}

/** Reads the tag ids of conversations. `ids` is a JSON array. */
export async function readTags(
  tx: Sql,
  dialect: Dialect,
  inboxId: string | null,
  ids: string,
): Promise<Map<string, string[]>> {
  const rows = await tx.query<{ conversation_id: string; tag_id: string }>(
    `SELECT conversation_id, tag_id FROM conversation_tags
     WHERE inbox_id = $1 AND conversation_id IN (SELECT value FROM ${dialect.texts('$2', 'ids')})`,
    inboxId,
    ids,
  );
  const tags = new Map<string, string[]>();
  for (const row of rows)
    tags.set(row.conversation_id, [...(tags.get(row.conversation_id) ?? []), row.tag_id]);
  return tags;
}

/**
 * Inserts and deletes tag links where conversations differ from `before`. Skips those that do not report
 * tags.
 */
export async function writeTags(
  tx: Sql,
  dialect: Dialect,
  { inboxId }: ListKey,
  written: readonly Item[],
  before: ReadonlyMap<string, Known>,
): Promise<void> {
  const links = dialect.records('$2', { conversation_id: 'text', tag_id: 'text' }, 'links');
  const removed: Link[] = [];
  const added: Link[] = [];
  for (const { id, tags } of written) {
    if (tags === null) continue;
    const had = new Set(before.get(id)?.tags);
    const has = new Set(tags);
    for (const tag of had) if (!has.has(tag)) removed.push({ conversation_id: id, tag_id: tag });
    for (const tag of has) if (!had.has(tag)) added.push({ conversation_id: id, tag_id: tag });
  }
  if (removed.length > 0) {
    await tx.execute(
      `DELETE FROM conversation_tags
       WHERE inbox_id = $1 AND (conversation_id, tag_id) IN (SELECT conversation_id, tag_id FROM ${links})`,
      inboxId,
      JSON.stringify(removed),
    );
  }
  if (added.length > 0) {
    await tx.execute(
      `INSERT INTO conversation_tags (inbox_id, conversation_id, tag_id)
       SELECT $1, conversation_id, tag_id FROM ${links} WHERE TRUE ON CONFLICT DO NOTHING`,
      inboxId,
      JSON.stringify(added),
    );
  }
}
