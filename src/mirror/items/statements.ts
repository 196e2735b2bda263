import { type ColumnKind, COLUMNS, type ListName, TABLES } from '../../core/lists.ts';
import type { Dialect } from '../../database/dialect.ts';

/** The part of a stored row that shows whether an item must be written. */
export interface KnownRow {
  readonly id: string;
  readonly content_hash: string;
  readonly changed_at: Date;
  readonly deleted_at: Date | null;
  readonly missing_since: Date | null;
}

/** The statements that read and write one list's table; `$1` is the inbox id (unused for inboxes). */
export interface ItemSql {
  /** `$2` JSON array of ids: the short form of their rows ({@link KnownRow}). */
  readonly knownRows: string;
  /** `$2` JSON array of ids: their mirrored columns. */
  readonly columns: string;
  /** `$2` JSON array of rows, `$3` now: inserts or overwrites them and removes suspicions and tombstones. */
  readonly upsert: string;
  /** `$2` JSON array of ids: removes the suspicion of rows that are present. */
  readonly clear: string;
  /** `$2` sweep id: a condition on the live rows that are on no page of the sweep, readable or not. */
  readonly unseen: string;
  /** The table, and the condition on it for the list's rows. */
  readonly table: string;
  readonly scope: string;
}

const WRITTEN: Record<string, ColumnKind | 'json'> = { raw: 'json', content_hash: 'text' };

export function itemSql(list: ListName, dialect: Dialect): ItemSql {
  const table = TABLES[list];
  const scope = list === 'inboxes' ? 'TRUE' : 'inbox_id = $1';
  const mirrored = Object.keys(COLUMNS[list]);
  const ids = `id IN (SELECT value FROM ${dialect.texts('$2', 'ids')})`;
  const records = dialect.records('$2', { id: 'text', ...COLUMNS[list], ...WRITTEN }, 'new_rows');
  const written = [...mirrored, ...Object.keys(WRITTEN)];
  const key = list === 'inboxes' ? ['id'] : ['inbox_id', 'id'];
  const keyValues = list === 'inboxes' ? ['id'] : ['$1', 'id'];
  return {
    table,
    scope,
    knownRows: `
      SELECT id, content_hash, changed_at, deleted_at, missing_since FROM ${table} WHERE ${scope} AND ${ids}`,
    columns: `SELECT id, ${mirrored.join(', ')} FROM ${table} WHERE ${scope} AND ${ids}`,
    upsert: `
      INSERT INTO ${table} (${[...key, ...written].join(', ')}, first_seen_at, changed_at)
      SELECT ${[...keyValues, ...written].join(', ')}, $3, $3 FROM ${records} WHERE TRUE
      ON CONFLICT (${key.join(', ')}) DO UPDATE SET
        ${written.map((column) => `${column} = excluded.${column}`).join(', ')},
        changed_at = excluded.changed_at, missing_since = NULL, deleted_at = NULL`,
    clear: `UPDATE ${table} SET missing_since = NULL WHERE ${scope} AND ${ids}`,
    unseen: `${scope} AND deleted_at IS NULL AND ${dialect.noneOf(
      'id',
      `
      SELECT seen.value FROM sweep_pages, ${dialect.texts('item_ids', 'seen')} WHERE sweep_id = $2
      UNION ALL SELECT item_id FROM rejects WHERE sweep_id = $2 AND item_id IS NOT NULL`,
    )}`,
  };
}
