import type { Known } from '../../core/diff.ts';
import type { Item, ListKey } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';

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

/** Brings the tag links of conversations that say their tags to what they say. */
export async function writeTags(
  tx: Sql,
  dialect: Dialect,
  { inboxId }: ListKey,
  written: readonly Item[],
  before: ReadonlyMap<string, Known>,
): Promise<void> {
  const links = (pairs: { id: string; tags: readonly string[] }[]): string =>
    JSON.stringify(
      pairs.flatMap(({ id, tags }) => tags.map((tag) => ({ conversation_id: id, tag_id: tag }))),
    );
  const pairs = dialect.records('$2', { conversation_id: 'text', tag_id: 'text' }, 'links');
  const gone: { id: string; tags: string[] }[] = [];
  const come: { id: string; tags: string[] }[] = [];
  for (const { id, tags } of written) {
    if (tags === null) continue;
    const had = new Set(before.get(id)?.tags);
    const has = new Set(tags);
    gone.push({ id, tags: [...had].filter((tag) => !has.has(tag)) });
    come.push({ id, tags: tags.filter((tag) => !had.has(tag)) });
  }
  const removed = links(gone);
  const added = links(come);
  if (removed !== '[]') {
    await tx.execute(
      `DELETE FROM conversation_tags WHERE inbox_id = $1 AND (conversation_id, tag_id) IN (SELECT conversation_id, tag_id FROM ${pairs})`,
      inboxId,
      removed,
    );
  }
  if (added !== '[]') {
    await tx.execute(
      `INSERT INTO conversation_tags (inbox_id, conversation_id, tag_id)
       SELECT $1, conversation_id, tag_id FROM ${pairs} WHERE TRUE ON CONFLICT DO NOTHING`,
      inboxId,
      added,
    );
  }
}
