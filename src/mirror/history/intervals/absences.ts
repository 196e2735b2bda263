import type { Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';
import { iso } from '../../../database/instants.ts';
import { INTERVALS } from '../../../database/views/definitions.ts';
import { beginStay } from './begin.ts';
import { byConversation, computeInbox, computeIntervals, idsScope } from './compute.ts';

/**
 * Ends the intervals of conversations that get a tombstone. Runs after their rows and changes are written.
 * @param at the present, in the stored form (`iso`)
 * @param isPlain false if time ran backwards (`isLatest`): then the definition computes the intervals
 */
export async function endGone(
  tx: Sql,
  dialect: Dialect,
  inboxId: string | null,
  ids: readonly string[],
  { at, isPlain }: { at: string; isPlain: boolean },
): Promise<void> {
  if (!isPlain) return await computeIntervals(tx, dialect, inboxId, ids);
  const scope = idsScope(dialect)('inbox_id', 'conversation_id');
  await end(tx, dialect, scope, [inboxId, JSON.stringify(ids), at]);
}

/** Ends the intervals of all conversations of an inbox that gets a tombstone, as {@link endGone} does. */
export async function endInbox(
  tx: Sql,
  dialect: Dialect,
  inboxId: string,
  { at, isPlain }: { at: string; isPlain: boolean },
): Promise<void> {
  if (!isPlain) return await computeInbox(tx, dialect, inboxId);
  await end(tx, dialect, 'inbox_id = $1', [inboxId, null, at]);
}

/** @param parameters `$1` and `$2` of the scope, and the instant `$3` */
async function end(tx: Sql, dialect: Dialect, scope: string, parameters: readonly unknown[]): Promise<void> {
  for (const { table } of Object.values(INTERVALS))
    await tx.execute(
      `UPDATE ${byConversation(dialect, table)} SET to_at = $3 WHERE ${scope} AND to_at IS NULL`,
      ...parameters,
    );
}

/**
 * Begins intervals of the conversations that return with their inbox. Runs after its row, their rows and its
 * change are written.
 */
export async function beginInbox(tx: Sql, dialect: Dialect, inboxId: string, at: string): Promise<void> {
  const goneAt = await lastLoss(tx, inboxId);
  if (goneAt === null || !(await isPlainReturn(tx, inboxId, { goneAt, at })))
    return await computeInbox(tx, dialect, inboxId);
  await beginStay(tx, inboxId, { fromAt: at, fromEarliest: goneAt, isLowerBound: false });
}

/** When the inbox was last seen to be gone, in the stored form; null if no change tells. */
async function lastLoss(tx: Sql, inboxId: string): Promise<string | null> {
  const [loss] = await tx.query<{ observed_at: Date }>(
    `SELECT observed_at FROM changes
     WHERE list = 'inboxes' AND inbox_id IS NULL AND item_id = $1
       AND field = 'presence' AND new_value = 'missing' ORDER BY id DESC LIMIT 1`,
    inboxId,
  );
  return loss === undefined ? null : iso(loss.observed_at);
}

/**
 * True if everything in the mirror was seen before the return, and no conversation was lost by itself at the
 * instant at which its inbox was.
 */
async function isPlainReturn(
  tx: Sql,
  inboxId: string,
  { goneAt, at }: { goneAt: string; at: string },
): Promise<boolean> {
  const rows = await tx.query(
    `SELECT id FROM inboxes WHERE id = $1
     AND NOT EXISTS (SELECT 1 FROM changes
       WHERE observed_at >= $3 AND (observed_at > $3 OR list = 'conversations'))
     AND NOT EXISTS (SELECT 1 FROM conversations
       WHERE inbox_id = $1 AND (first_seen_at >= $3 OR deleted_at > $3))
     AND NOT EXISTS (SELECT 1 FROM changes
       WHERE observed_at = $2 AND list = 'conversations' AND inbox_id = $1
         AND field = 'presence' AND new_value = 'missing')`,
    inboxId,
    goneAt,
    at,
  );
  return rows.length > 0;
}
