import type { Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';
import {
  INTERVAL_KINDS,
  type IntervalKind,
  INTERVALS,
  intervalsSql,
  type Scope,
} from '../../../database/views/definitions.ts';
import { forgetAllDays, forgetDaysOf } from '../days/forget.ts';

/** The conversations of the inbox `$1` whose ids are in the JSON array `$2`. */
export function idsScope({ oneOfFew, texts }: Dialect): Scope {
  return (inboxId, id) => `${inboxId} = $1 AND ${oneOfFew(id, `SELECT value FROM ${texts('$2', 'ids')}`)}`;
}

/**
 * A table of intervals with the index that finds those of a conversation: SQLite would take the other one.
 */
export function byConversation({ readBy }: Dialect, table: string): string {
  return `${table} ${readBy(`${table}_inbox_id_conversation_id_idx`)}`;
}

/** The columns of a table of intervals, without `id` and `from_earliest`. */
export function sharedColumns(kind: IntervalKind): string {
  const { value, before } = INTERVALS[kind];
  const last = before === null ? '' : `, ${before}`;
  return `inbox_id, conversation_id, ${value}, from_at, to_at, is_lower_bound${last}`;
}

/** Replaces the intervals of conversations by those that `changes` define. */
export async function computeIntervals(
  tx: Sql,
  dialect: Dialect,
  inboxId: string | null,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const [scope, parameters] = [idsScope(dialect), [inboxId, JSON.stringify(ids)]];
  const forget = async (): Promise<void> => {
    const where = scope('inbox_id', 'conversation_id');
    for (const { table } of Object.values(INTERVALS))
      await forgetDaysOf(tx, `${byConversation(dialect, table)} WHERE ${where}`, parameters);
  };
  await forget();
  await compute(tx, dialect, scope, parameters);
  await forget();
}

/** Replaces the intervals of all conversations of an inbox by those that `changes` define. */
export async function computeInbox(tx: Sql, dialect: Dialect, inboxId: string): Promise<void> {
  await forgetAllDays(tx);
  await compute(tx, dialect, (column) => `${column} = $1`, [inboxId]);
}

async function compute(
  tx: Sql,
  dialect: Dialect,
  scope: Scope,
  parameters: readonly unknown[],
): Promise<void> {
  for (const kind of INTERVAL_KINDS) {
    const { table } = INTERVALS[kind];
    const columns = `${sharedColumns(kind)}, from_earliest`;
    await tx.execute(`DELETE FROM ${table} WHERE ${scope('inbox_id', 'conversation_id')}`, ...parameters);
    await tx.execute(
      `INSERT INTO ${table} (${columns})
       SELECT ${columns} FROM (${intervalsSql(dialect, kind, scope)}) AS computed`,
      ...parameters,
    );
  }
}
