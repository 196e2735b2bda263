import { MirrorError } from '../../core/errors.ts';
import type { ListName } from '../../core/lists.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';

/** At most 1,000 changes a query. */
const BATCH = 1000;

/** One row of `changes`. */
export interface ChangeRecord {
  readonly id: number;
  readonly observedAt: Date;
  readonly previouslySeenAt: Date | null;
  readonly list: ListName;
  readonly inboxId: string | null;
  readonly itemId: string;
  readonly field: string;
  readonly oldValue: string | null;
  readonly newValue: string | null;
}

/** Selects changes. Every given condition must hold. */
export interface ChangeFilter {
  readonly list?: ListName | undefined;
  readonly inboxId?: string | undefined;
  readonly itemId?: string | undefined;
  readonly field?: string | undefined;
  /** Observed at this instant or later. */
  readonly since?: Date | undefined;
}

interface ChangeRow {
  id: number;
  observed_at: Date;
  previously_seen_at: Date | null;
  list: ListName;
  inbox_id: string | null;
  item_id: string;
  field: string;
  old_value: string | null;
  new_value: string | null;
}

/** The history: the rows of `changes`. */
export class History {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * The first `limit` changes after the one with this id, in the order of writing. Only one process writes,
   * so ids rise in that order: a reader that keeps its last id misses no change and reads none twice.
   * @throws MirrorError `CURSOR_AHEAD` for an id beyond the newest change. No change is ever deleted, so the
   *   id is of another history, such as the one that a restored backup has replaced.
   */
  async after(afterId: number, filter: ChangeFilter, limit: number): Promise<ChangeRecord[]> {
    const changes = await select(this.#sql, filter, { afterId, order: 'id', limit });
    if (changes.length === 0 && afterId > 0) await this.#refuseBeyond(afterId);
    return changes;
  }

  /** The first `limit` changes after the one with this id, at most 1,000 at a time. */
  async *batchesAfter(
    afterId: number,
    filter: ChangeFilter,
    limit = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<ChangeRecord[], void> {
    for (let [after, left] = [afterId, limit]; left > 0;) {
      const most = Math.min(BATCH, left);
      const changes = await this.after(after, filter, most);
      if (changes.length > 0) yield changes;
      after = changes.at(-1)?.id ?? after;
      left -= changes.length;
      if (changes.length < most) return;
    }
  }

  /** The newest `limit` changes, oldest first. */
  async newest(filter: ChangeFilter, limit: number): Promise<ChangeRecord[]> {
    const newest = await select(this.#sql, filter, { afterId: 0, order: 'id DESC', limit });
    return newest.toReversed();
  }

  /** The id of the newest change; 0 if there is none. */
  async lastId(): Promise<number> {
    const [row] = await this.#sql.query<{ id: number | null }>(`SELECT max(id) AS id FROM changes`);
    return row?.id ?? 0;
  }

  async #refuseBeyond(afterId: number): Promise<void> {
    const lastId = await this.lastId();
    if (afterId <= lastId) return;
    throw new MirrorError(
      'CURSOR_AHEAD',
      `The mirror has no change ${afterId}: the newest is ${lastId}. The id is from another mirror, ` +
        'or this one was restored from a backup: new changes get ids that were used before. Copy the rows ' +
        `that you need from the tables again, then read on after ${lastId}; or read all changes after 0.`,
    );
  }
}

async function select(
  sql: Sql,
  { list, inboxId, itemId, field, since }: ChangeFilter,
  { afterId, order, limit }: { afterId: number; order: string; limit: number },
): Promise<ChangeRecord[]> {
  const parameters: unknown[] = [afterId];
  // The caller's id may exceed the range of the column's type.
  const conditions = ['id > CAST($1 AS BIGINT)'];
  const equal = { list, inbox_id: inboxId, item_id: itemId, field };
  for (const [column, value] of Object.entries(equal)) {
    if (value !== undefined) conditions.push(`${column} = $${parameters.push(value)}`);
  }
  if (since !== undefined) conditions.push(`observed_at >= $${parameters.push(iso(since))}`);
  const rows = await sql.query<ChangeRow>(
    `SELECT id, observed_at, previously_seen_at, list, inbox_id, item_id, field, old_value, new_value
     FROM changes WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT $${parameters.push(limit)}`,
    ...parameters,
  );
  return rows.map(asRecord);
}

function asRecord({
  observed_at,
  previously_seen_at,
  inbox_id,
  item_id,
  old_value,
  new_value,
  ...row
}: ChangeRow): ChangeRecord {
  return {
    ...row,
    observedAt: observed_at,
    previouslySeenAt: previously_seen_at,
    inboxId: inbox_id,
    itemId: item_id,
    oldValue: old_value,
    newValue: new_value,
  };
}
