import type { ItemValues } from '../../core/diff.ts';
import type { ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { ofInboxSql } from '../../database/views/expressions.ts';
import { type Cursor, cursorText, newestCursor, readCursor, refuseForeignCursor } from './cursor.ts';
import { epochOf } from './epochs.ts';

/** At most 1,000 changes a query. */
const BATCH = 1000;

/**
 * A batch ends after the change with which its values reach this many bytes: the text of thousands of long
 * values would not fit into memory.
 */
const MOST_BYTES = 8_000_000;

/** SQL: the bytes of a change's values. */
const BYTES = ['old_value', 'new_value', 'CAST(item_values AS TEXT)']
  .map((value) => `coalesce(octet_length(${value}), 0)`)
  .join(' + ');

/** One row of `changes`. */
export interface ChangeRecord {
  readonly id: number;
  /** The place after this change, with its epoch: a reader that stores it notices a restored backup. */
  readonly cursor: string;
  readonly observedAt: Date;
  readonly previouslySeenAt: Date | null;
  readonly list: ListName;
  readonly inboxId: string | null;
  readonly itemId: string;
  readonly field: string;
  readonly oldValue: string | null;
  readonly newValue: string | null;
  /**
   * The values with which the item appeared or returned: the text of each column or null, and the ids of
   * a conversation's tags. Null for other changes.
   */
  readonly itemValues: ItemValues | null;
}

/** Selects changes. Every given condition must hold. */
export interface ChangeFilter {
  readonly list?: ListName | undefined;
  /** Changes in this inbox, and of the inbox itself, which have no `inboxId`. */
  readonly inboxId?: string | undefined;
  readonly itemId?: string | undefined;
  readonly field?: string | undefined;
  /** Observed at this instant or later. */
  readonly since?: Date | undefined;
  /** Observed before this instant. */
  readonly until?: Date | undefined;
}

interface ChangeRow {
  id: number;
  epoch: string | null;
  observed_at: Date;
  previously_seen_at: Date | null;
  list: ListName;
  inbox_id: string | null;
  item_id: string;
  field: string;
  old_value: string | null;
  new_value: string | null;
  item_values: ItemValues | null;
}

/** The history: the rows of `changes`. */
export class History {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * The first `limit` changes after this place, in the order of writing; fewer if their values are long. Only
   * one process writes, so ids rise in that order: a reader that keeps its last cursor misses no change and
   * reads none twice.
   * @throws MirrorError `CURSOR_AHEAD` for an id beyond the newest change, `OTHER_EPOCH` if the change with
   *   this id is of another epoch than the cursor. No change is ever deleted, so the cursor is of another
   *   history, such as the one that a restored backup has replaced.
   */
  async after(after: Cursor, filter: ChangeFilter, limit: number): Promise<ChangeRecord[]> {
    if (after.epoch !== null) await refuseForeignCursor(this.#sql, after);
    const changes = await select(this.#sql, filter, { afterId: after.id, limit });
    if (changes.length === 0 && after.epoch === null) await refuseForeignCursor(this.#sql, after);
    return changes;
  }

  /** The first `limit` changes after this place, at most 1,000 at a time. */
  async *batchesAfter(
    first: Cursor,
    filter: ChangeFilter,
    limit = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<ChangeRecord[], void> {
    for (let [after, left] = [first, limit]; left > 0;) {
      const most = Math.min(BATCH, left);
      const changes = await this.after(after, filter, most);
      if (changes.length === 0) return;
      yield changes;
      after = cursorAfter(changes) ?? after;
      left -= changes.length;
    }
  }

  /** The newest `limit` changes, oldest first. */
  async newest(filter: ChangeFilter, limit: number): Promise<ChangeRecord[]> {
    const newest = await select(this.#sql, filter, { limit });
    return newest.toReversed();
  }

  /** The place after the newest change. */
  async newestCursor(): Promise<Cursor> {
    return await newestCursor(this.#sql);
  }
}

/** The place after the last of these changes; undefined if there are none. */
export function cursorAfter(changes: readonly ChangeRecord[]): Cursor | undefined {
  const last = changes.at(-1);
  return last === undefined ? undefined : (readCursor(last.cursor) ?? undefined);
}

/** @param afterId the changes after this id, oldest first; without it the newest, newest first */
async function select(
  sql: Sql,
  { list, inboxId, itemId, field, since, until }: ChangeFilter,
  { afterId, limit }: { afterId?: number; limit: number },
): Promise<ChangeRecord[]> {
  const parameters: unknown[] = [afterId ?? 0];
  // The caller's id may exceed the range of the column's type.
  const conditions = ['id > CAST($1 AS BIGINT)'];
  const equal = { list, item_id: itemId, field };
  for (const [column, value] of Object.entries(equal)) {
    if (value !== undefined) conditions.push(`${column} = $${parameters.push(value)}`);
  }
  if (inboxId !== undefined) conditions.push(ofInboxSql(`$${parameters.push(inboxId)}`, list));
  if (since !== undefined) conditions.push(`observed_at >= $${parameters.push(iso(since))}`);
  if (until !== undefined) conditions.push(`observed_at < $${parameters.push(iso(until))}`);
  const first = `FROM changes WHERE ${conditions.join(' AND ')}
    ORDER BY ${afterId === undefined ? 'id DESC' : 'id'} LIMIT $${parameters.push(limit)}`;
  if (afterId !== undefined)
    conditions.push(`id <= (
      SELECT max(id) FROM (
        SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS before
        FROM (SELECT id, ${BYTES} AS bytes ${first}) AS sized) AS summed
      WHERE before < ${MOST_BYTES})`);
  const rows = await sql.query<ChangeRow>(
    `SELECT id, ${epochOf('changes.id')} AS epoch, observed_at, previously_seen_at, list, inbox_id, item_id,
       field, old_value, new_value, item_values
     ${afterId === undefined ? first : `FROM changes WHERE ${conditions.join(' AND ')} ORDER BY id`}`,
    ...parameters,
  );
  return rows.map(asRecord);
}

function asRecord({
  epoch,
  observed_at,
  previously_seen_at,
  inbox_id,
  item_id,
  old_value,
  new_value,
  item_values,
  ...row
}: ChangeRow): ChangeRecord {
  return {
    ...row,
    cursor: cursorText({ id: row.id, epoch }),
    observedAt: observed_at,
    previouslySeenAt: previously_seen_at,
    inboxId: inbox_id,
    itemId: item_id,
    oldValue: old_value,
    newValue: new_value,
    itemValues: item_values,
  };
}
