import type { Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';
import { idsScope } from './compute.ts';

/**
 * True if intervals of these conversations can simply end and begin at an instant: their inbox is present,
 * and the instant is later than every change in the mirror and than their first sight. While a clock that was
 * set back has not caught up, this is false. Must run before the changes of this instant are written.
 *
 * It reads `changes` and the rows. The stored intervals cannot show this: an interval that would end before
 * it begins is not stored.
 * @param observedAt in the stored form (`iso`)
 * @param ids null: all conversations of the inbox
 */
export async function isLatest(
  tx: Sql,
  dialect: Dialect,
  { inboxId, observedAt }: { inboxId: string | null; observedAt: string },
  ids: readonly string[] | null,
): Promise<boolean> {
  const inboxes = await tx.query(
    `SELECT id FROM inboxes WHERE id = $1 AND deleted_at IS NULL AND
       (SELECT observed_at FROM changes WHERE observed_at >= $2 ORDER BY observed_at DESC LIMIT 1) IS NULL`,
    inboxId,
    observedAt,
  );
  if (inboxes.length === 0 || ids?.length === 0) return inboxes.length > 0;
  const scope = ids === null ? 'inbox_id = $1' : idsScope(dialect)('inbox_id', 'id');
  const rows = await tx.query(
    `SELECT id FROM conversations WHERE ${scope} AND (first_seen_at >= $3 OR deleted_at > $3) LIMIT 1`,
    inboxId,
    JSON.stringify(ids),
    observedAt,
  );
  return rows.length === 0;
}
