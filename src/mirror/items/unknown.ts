import type { Item, ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';

/** Ids that conversations name and no row has, by list. A list that lacks none has no entry. */
export type UnknownIds = ReadonlyMap<ListName, readonly string[]>;

/** Finds the users and tags that conversations of an inbox name and that the mirror has never had. */
export async function findUnknown(
  tx: Sql,
  dialect: Dialect,
  inboxId: string | null,
  conversations: readonly Item[],
): Promise<UnknownIds> {
  const users = conversations.flatMap(({ columns }) => columns['assignee_id'] ?? []);
  const tags = conversations.flatMap((item) => item.tags ?? []);
  if (users.length + tags.length === 0) return new Map();
  const found = await tx.query<{ list: ListName; id: string }>(
    `SELECT 'users' AS list, value AS id FROM ${dialect.texts('$2', 'users')}
     WHERE NOT EXISTS (SELECT 1 FROM inbox_users WHERE inbox_id = $1 AND id = value)
     UNION ALL
     SELECT 'tags', value FROM ${dialect.texts('$3', 'tags')}
     WHERE NOT EXISTS (SELECT 1 FROM inbox_tags WHERE inbox_id = $1 AND id = value)`,
    inboxId,
    JSON.stringify([...new Set(users)]),
    JSON.stringify([...new Set(tags)]),
  );
  const byList = Map.groupBy(found, ({ list }) => list);
  return new Map([...byList].map(([list, rows]) => [list, rows.map(({ id }) => id)]));
}
