import type { Sql } from '../../../database/database.ts';
import type { Dialect } from '../../../database/dialect.ts';
import {
  INTERVAL_KINDS,
  type IntervalKind,
  INTERVALS,
  intervalsSql,
} from '../../../database/views/definitions.ts';
import type { FencedDatabase } from '../../lease.ts';
import { computeIntervals, sharedColumns } from './compute.ts';

/** A conversation whose stored intervals differ from those that `changes` define. */
export interface WrongIntervals {
  readonly kind: IntervalKind;
  readonly inboxId: string;
  readonly conversationId: string;
}

/** At most this many conversations are repaired in one transaction, so that pages do not wait long. */
const BATCH = 500;

/** Compares the stored intervals with those that `changes` define. It reads the whole history. */
export async function findWrongIntervals(sql: Sql, dialect: Dialect): Promise<WrongIntervals[]> {
  const wrong: WrongIntervals[] = [];
  for (const kind of INTERVAL_KINDS) {
    const rows = await sql.query<{ inbox_id: string; conversation_id: string }>(comparison(dialect, kind));
    for (const { inbox_id, conversation_id } of rows)
      wrong.push({ kind, inboxId: inbox_id, conversationId: conversation_id });
  }
  return wrong;
}

/** A query for the conversations whose computed and stored intervals differ. */
function comparison(dialect: Dialect, kind: IntervalKind): string {
  const { table } = INTERVALS[kind];
  const shared = sharedColumns(kind);
  return `
    SELECT DISTINCT inbox_id, conversation_id FROM (
      SELECT inbox_id, conversation_id FROM (
        SELECT ${shared}, 1 AS n, from_earliest AS computed, NULL AS stored,
          CASE WHEN by_sweep THEN 0 ELSE 1 END AS is_certain
        FROM (${intervalsSql(dialect, kind, () => 'TRUE')}) AS defined
        UNION ALL
        SELECT ${shared}, -1, NULL, from_earliest, 0 FROM ${table}
      ) AS both_sides
      GROUP BY ${shared}
      HAVING sum(n) <> 0 OR max(is_certain) = 1 AND max(computed) IS DISTINCT FROM max(stored)
    ) AS differing
    ORDER BY inbox_id, conversation_id`;
}

/** Replaces the intervals of these conversations by those that `changes` define. */
export async function repairIntervals(
  { database, write }: FencedDatabase,
  wrong: readonly WrongIntervals[],
): Promise<void> {
  for (const [inboxId, ofInbox] of Map.groupBy(wrong, (one) => one.inboxId)) {
    const ids = [...new Set(ofInbox.map(({ conversationId }) => conversationId))];
    for (let from = 0; from < ids.length; from += BATCH)
      await write((tx) => computeIntervals(tx, database.dialect, inboxId, ids.slice(from, from + BATCH)));
  }
}
