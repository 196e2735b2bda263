import { listId, type ListKey, type ListName } from '../../core/lists.ts';
import type { Database, Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';

const OF_LIST = `list = $1 AND COALESCE(inbox_id, '') = COALESCE($2, '')`;

/**
 * The list's unlisted rows: live ones that the list leaves out, and that the service returned all the same
 * when it was asked for them. @returns when it last returned each of them, by id
 */
export async function readUnlisted(
  sql: Pick<Sql, 'query'>,
  { list, inboxId }: ListKey,
): Promise<Map<string, Date>> {
  const rows = await sql.query<{ item_id: string; returned_at: Date }>(
    `SELECT item_id, returned_at FROM unlisted WHERE ${OF_LIST}`,
    list,
    inboxId,
  );
  return new Map(rows.map(({ item_id, returned_at }) => [item_id, returned_at]));
}

/**
 * Records that the service has returned a row that its list left out.
 * @param at an instant of the database
 */
export async function recordUnlisted(
  tx: Sql,
  { list, inboxId }: ListKey,
  id: string,
  at: string,
): Promise<void> {
  const known = await tx.execute(
    `UPDATE unlisted SET returned_at = $4 WHERE ${OF_LIST} AND item_id = $3`,
    list,
    inboxId,
    id,
    at,
  );
  if (known > 0) return;
  await tx.execute(
    `INSERT INTO unlisted (list, inbox_id, item_id, since, returned_at) VALUES ($1, $2, $3, $4, $4)`,
    list,
    inboxId,
    id,
    at,
  );
}

/** Forgets unlisted rows that the list shows again. @returns those that there were, as `readUnlisted` does */
export async function forgetListed(
  tx: Sql,
  dialect: Dialect,
  key: ListKey,
  isListed: (id: string, returnedAt: Date) => boolean,
): Promise<ReadonlyMap<string, Date>> {
  const unlisted = await readUnlisted(tx, key);
  const listed = [...unlisted].filter(([id, at]) => isListed(id, at)).map(([id]) => id);
  await forgetUnlisted(tx, dialect, key, listed);
  return unlisted;
}

/** Forgets unlisted rows. */
export async function forgetUnlisted(
  tx: Sql,
  dialect: Dialect,
  { list, inboxId }: ListKey,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(
    `DELETE FROM unlisted WHERE ${OF_LIST} AND item_id IN (SELECT value FROM ${dialect.texts('$3', 'ids')})`,
    list,
    inboxId,
    JSON.stringify(ids),
  );
}

/** Counts the unlisted rows of each list, by its id; a list without one is left out. */
export async function countUnlisted(database: Pick<Database, 'query'>): Promise<Map<string, number>> {
  const rows = await database.query<{ list: ListName; inbox_id: string | null; n: number }>(
    `SELECT list, inbox_id, count(*) AS n FROM unlisted GROUP BY list, inbox_id`,
  );
  return new Map(rows.map((row) => [listId({ list: row.list, inboxId: row.inbox_id }), row.n]));
}
