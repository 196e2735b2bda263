import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import type { SeenRow } from './kinds.ts';

/** Reads the live conversations among `ids`, in any order. */
export async function readSeenRows(
  sql: Sql,
  dialect: Dialect,
  inboxId: string,
  ids: readonly string[],
): Promise<SeenRow[]> {
  const rows = await sql.query<{
    id: string;
    status: string | null;
    changed_at: Date;
    first_seen_at: Date;
  }>(
    `SELECT id, status, changed_at, first_seen_at FROM conversations
     WHERE inbox_id = $1 AND deleted_at IS NULL AND id IN (SELECT value FROM ${dialect.texts('$2', 'ids')})`,
    inboxId,
    JSON.stringify(ids),
  );
  return rows.map(({ id, status, changed_at, first_seen_at }) => ({
    id,
    status,
    changedAt: changed_at.getTime(),
    firstSeenAt: first_seen_at.getTime(),
  }));
}
