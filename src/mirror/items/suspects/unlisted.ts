import { DAY } from '../../../core/clock.ts';
import { LIST_NAMES, listId, type ListKey, type ListName, TABLES } from '../../../core/lists.ts';
import type { Database, Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';

const OF_LIST = `list = $1 AND COALESCE(inbox_id, '') = COALESCE($2, '')`;

/** Since when a row is unlisted, when the service last returned it, and when it was last asked for. */
export interface UnlistedTimes {
  readonly since: Date;
  readonly returnedAt: Date;
  readonly askedAt: Date;
}

/**
 * The list's unlisted rows, by id: live ones that the list leaves out, and that the service returned all the
 * same when it was asked for them. With those that have become suspects since (`missing_since`).
 */
export async function readUnlisted(
  sql: Pick<Sql, 'query'>,
  { list, inboxId }: ListKey,
): Promise<Map<string, UnlistedTimes>> {
  const rows = await sql.query<{ item_id: string; since: Date; returned_at: Date; asked_at: Date | null }>(
    `SELECT item_id, since, returned_at, asked_at FROM unlisted WHERE ${OF_LIST}`,
    list,
    inboxId,
  );
  return new Map(
    rows.map(({ item_id, since, returned_at: returnedAt, asked_at: askedAt }) => [
      item_id,
      { since, returnedAt, askedAt: askedAt ?? returnedAt },
    ]),
  );
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
    `UPDATE unlisted SET returned_at = $4, asked_at = NULL WHERE ${OF_LIST} AND item_id = $3`,
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

/**
 * Records that an answer for a row has decided nothing. Does so only for an unlisted row.
 * @param at an instant of the database
 */
export async function recordAsked(
  tx: Sql,
  { list, inboxId }: ListKey,
  id: string,
  at: string,
): Promise<void> {
  await tx.execute(
    `UPDATE unlisted SET asked_at = $4 WHERE ${OF_LIST} AND item_id = $3`,
    list,
    inboxId,
    id,
    at,
  );
}

/** Forgets unlisted rows that the list shows again. @returns the others, as `readUnlisted` does */
export async function forgetListed(
  tx: Sql,
  dialect: Dialect,
  key: ListKey,
  isListed: (id: string, times: UnlistedTimes) => boolean,
): Promise<ReadonlyMap<string, UnlistedTimes>> {
  const unlisted = await readUnlisted(tx, key);
  const listed = [...unlisted].filter(([id, times]) => isListed(id, times)).map(([id]) => id);
  await forgetUnlisted(tx, dialect, key, listed);
  for (const id of listed) unlisted.delete(id);
  return unlisted;
}

/** True if the service has returned one of these rows in the day before `at`. */
export function hasRecent(unlisted: ReadonlyMap<string, UnlistedTimes>, at: Date): boolean {
  return [...unlisted.values()].some(({ returnedAt }) => at.getTime() - returnedAt.getTime() < DAY);
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

/** SQL: the row is live and no suspect. Rows of a deleted inbox stay, because it may return. */
const COUNTS = LIST_NAMES.map((list) => {
  const ofInbox = list === 'inboxes' ? '' : 'AND items.inbox_id = unlisted.inbox_id';
  return `(list = '${list}' AND EXISTS (SELECT 1 FROM ${TABLES[list]} AS items
    WHERE items.id = item_id ${ofInbox} AND deleted_at IS NULL AND missing_since IS NULL))`;
}).join(' OR ');

/** Counts the live unlisted rows of each list that has some, by its id. Suspects do not count. */
export async function countUnlisted(database: Pick<Database, 'query'>): Promise<Map<string, number>> {
  const rows = await database.query<{ list: ListName; inbox_id: string | null; n: number }>(
    `SELECT list, inbox_id, count(*) AS n FROM unlisted WHERE ${COUNTS} GROUP BY list, inbox_id`,
  );
  return new Map(rows.map((row) => [listId({ list: row.list, inboxId: row.inbox_id }), row.n]));
}
