import type { Database, Sql } from '../../../database/database.ts';

/** SQL: the rows of `undecided` whose conversation has been missing, and live, since it was asked for. */
const UNDECIDED = `undecided JOIN conversations
  ON conversations.inbox_id = undecided.inbox_id AND conversations.id = conversation_id
    AND deleted_at IS NULL AND missing_since <= asked_at`;

/** When the service was last asked for each missing conversation by id, if that decided nothing. */
export async function readUndecided(
  database: Pick<Database, 'query' | 'dialect'>,
  inboxId: string | null,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const rows = await database.query<{ id: string; asked_at: Date }>(
    `SELECT conversation_id AS id, asked_at FROM ${UNDECIDED}
     WHERE undecided.inbox_id = $1
       AND conversation_id IN (SELECT value FROM ${database.dialect.texts('$2', 'ids')})`,
    inboxId,
    JSON.stringify(ids),
  );
  return new Map(rows.map((row) => [row.id, row.asked_at]));
}

/** Counts the missing conversations of all inboxes on which the last answer decided nothing. */
export async function countUndecided(database: Pick<Database, 'query'>): Promise<number> {
  const [row] = await database.query<{ n: number }>(`SELECT count(*) AS n FROM ${UNDECIDED}`);
  return row?.n ?? 0;
}

/**
 * Records that an answer for a missing conversation has decided nothing.
 * @param at an instant of the database
 */
export async function recordUndecided(
  tx: Sql,
  inboxId: string | null,
  id: string,
  at: string,
): Promise<void> {
  await tx.execute(
    `INSERT INTO undecided (inbox_id, conversation_id, asked_at) VALUES ($1, $2, $3)
     ON CONFLICT (inbox_id, conversation_id) DO UPDATE SET asked_at = excluded.asked_at`,
    inboxId,
    id,
    at,
  );
}

/** SQL: deletes the rows whose conversation is listed again, or gone. */
export const FORGET_DECIDED = `DELETE FROM undecided WHERE NOT EXISTS (
  SELECT 1 FROM conversations
  WHERE conversations.inbox_id = undecided.inbox_id AND conversations.id = conversation_id
    AND deleted_at IS NULL AND missing_since IS NOT NULL)`;
