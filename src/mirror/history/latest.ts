import type { Sql } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { idsScope } from './compute-intervals.ts';

/**
 * True if an instant is later than every change in the mirror and than the first sight of these conversations.
 * False while a clock that was set back has not caught up. Must run before the changes of this instant are
 * written.
 *
 * It reads `changes` and the rows. The stored intervals do not tell: one that time has turned around, which
 * would end before it begins, is not stored.
 * @param observedAt in the stored form (`iso`)
 * @param ids null: all conversations of the inbox
 */
export async function isLatest(
  tx: Sql,
  dialect: Dialect,
  { inboxId, observedAt }: { inboxId: string | null; observedAt: string },
  ids: readonly string[] | null,
): Promise<boolean> {
  const changes = await tx.query(
    `SELECT id FROM changes WHERE observed_at >= $1 ORDER BY observed_at DESC LIMIT 1`,
    observedAt,
  );
  if (changes.length > 0) return false;
  if (ids?.length === 0) return true;
  const scope = ids === null ? 'inbox_id = $1' : idsScope(dialect)('inbox_id', 'id');
  const rows = await tx.query(
    `SELECT id FROM conversations WHERE ${scope} AND (first_seen_at >= $3 OR deleted_at > $3) LIMIT 1`,
    inboxId,
    JSON.stringify(ids),
    observedAt,
  );
  return rows.length === 0;
}
