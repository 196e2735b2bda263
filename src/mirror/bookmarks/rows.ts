import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { isFinalSql } from '../../database/views/definitions.ts';
import type { SeenRow } from './kinds.ts';

/** Reads the live conversations among `ids`, in any order. FINAL_STATUSES says which are final. */
export async function readSeenRows(
  sql: Sql,
  dialect: Dialect,
  inboxId: string,
  ids: readonly string[],
): Promise<SeenRow[]> {
  const rows = await sql.query<{
    id: string;
    is_final: boolean | number;
    changed_at: Date;
    first_seen_at: Date;
  }>(
    `SELECT id, ${isFinalSql(dialect, 'status')} AS is_final, changed_at, first_seen_at FROM conversations
     WHERE inbox_id = $1 AND deleted_at IS NULL AND id IN (SELECT value FROM ${dialect.texts('$2', 'ids')})`,
    inboxId,
    JSON.stringify(ids),
  );
  return rows.map(({ id, is_final, changed_at, first_seen_at }) => ({
    id,
    isFinal: Boolean(is_final),
    changedAt: changed_at.getTime(),
    firstSeenAt: first_seen_at.getTime(),
  }));
}
