import type { Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';
import { INTERVAL_KINDS, type IntervalKind, INTERVALS } from '../../../database/views/definitions.ts';
import { statusSql } from '../../../database/views/expressions.ts';

/** The values that the first intervals of a page's conversations share; instants as stored (`iso`). */
interface Beginning {
  readonly fromAt: string;
  readonly fromEarliest: string | null;
  readonly isLowerBound: boolean;
}

/** Begins intervals of the values of new conversations. Runs after their rows are written. */
export async function beginAppeared(
  tx: Sql,
  dialect: Dialect,
  { inboxId, ids }: { inboxId: string | null; ids: readonly string[] },
  beginning: Beginning,
): Promise<void> {
  // In this order SQLite finds each row by its key. For `id IN (…)` it would read the whole inbox.
  const from = `${dialect.texts('$2', 'ids')} CROSS JOIN conversations`;
  const where = 'conversations.inbox_id = $1 AND conversations.id = ids.value';
  await begin(tx, { from, where }, [inboxId, JSON.stringify(ids)], beginning);
}

/** Begins intervals of the values of all live conversations of an inbox that returns. */
export async function beginStay(tx: Sql, inboxId: string, beginning: Beginning): Promise<void> {
  const where = 'conversations.inbox_id = $1 AND conversations.deleted_at IS NULL';
  await begin(tx, { from: 'conversations', where }, [inboxId, null], beginning);
}

/** The tables hold the values already: it is faster to read them there than to pass them once more. */
async function begin(
  tx: Sql,
  { from, where }: { from: string; where: string },
  parameters: readonly [unknown, unknown],
  { fromAt, fromEarliest, isLowerBound }: Beginning,
): Promise<void> {
  for (const kind of INTERVAL_KINDS) {
    const { table, value } = INTERVALS[kind];
    await tx.execute(
      `INSERT INTO ${table} (inbox_id, conversation_id, ${value}, from_at, from_earliest, is_lower_bound)
       SELECT conversations.inbox_id, conversations.id, ${PRESENT[kind]}, $3, $4, $5
       FROM ${from} ${kind === 'tag' ? TAGS : ''} WHERE ${where}`,
      ...parameters,
      fromAt,
      fromEarliest,
      isLowerBound,
    );
  }
}

const TAGS = `JOIN conversation_tags AS tags
  ON tags.inbox_id = conversations.inbox_id AND tags.conversation_id = conversations.id`;

/** The present value of a conversation. */
const PRESENT: Record<IntervalKind, string> = {
  status: statusSql('conversations.status'),
  assignee: `nullif(conversations.assignee_id, '')`,
  tag: 'tags.tag_id',
};
