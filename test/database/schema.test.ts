import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ColumnKind, COLUMNS, LIST_NAMES, TABLES } from '../../src/core/lists.ts';
import type { Database } from '../../src/database/database.ts';
import { temporaryDatabase } from '../support/mirror.ts';
import { ON_SQLITE } from '../support/provider.ts';
import { freshMirrorFile } from '../support/template.ts';

const SQL_TYPES: Record<ColumnKind, string> = ON_SQLITE
  ? { text: 'TEXT', boolean: 'BOOLEAN', instant: 'DATETIME' }
  : { text: 'text', boolean: 'boolean', instant: 'timestamp(3) with time zone' };
const KEPT = 'raw, content_hash, first_seen_at, changed_at, missing_since, deleted_at';

/**
 * Columns that people's queries rely on (docs/tables.md). `*` stands for the columns of every mirrored row.
 * An indented line continues the one before it.
 */
const EXPECTED = `
inboxes            id, display_name, channel_type, email, inbox_type, is_authorised, source_user_id,
                   source_user_email, created_at, updated_at, *, known_since
inbox_users        inbox_id, id, first_name, last_name, email, phone_number, is_joined, *
inbox_tags         inbox_id, id, name, color_code, type, created_at, *
conversations      inbox_id, id, status, assignee_type, assignee_id, thread_id, thread_started_at,
                   permalink, *
conversation_tags  inbox_id, conversation_id, tag_id
changes            id, observed_at, previously_seen_at, list, inbox_id, item_id, field, old_value,
                   new_value, sweep_id, item_values
sweeps             id, list, inbox_id, reason, state, next_page, pages, items, requests, inserted,
                   changed, deleted, rejected, started_at, heartbeat_at, finished_at, error, error_code,
                   without_id, held, accepted, retry_at, restarts
sweep_pages        sweep_id, page_no, token, item_ids, fetched_at
requests           id, sent_at, method, path, list, inbox_id, reason, status, duration_ms,
                   items, changed, error, service_at
rejects            id, sweep_id, list, inbox_id, reason, raw, seen_at, item_id
undecided          inbox_id, conversation_id, asked_at
unlisted           id, list, inbox_id, item_id, since, returned_at, asked_at
`;

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

/** PostgreSQL's counterpart of SQLite's `pragma_table_info`. */
const COLUMNS_OF = `SELECT attname AS name, format_type(atttypid, atttypmod) AS type,
    CAST(attnotnull AS integer) AS "notnull",
    COALESCE(array_position(CAST(indkey AS int2[]), attnum) + 1, 0) AS pk
  FROM pg_attribute LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary
  WHERE attrelid = CAST($1 AS regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`;

async function columnsOf(database: Database, table: string): Promise<Column[]> {
  if (!ON_SQLITE) return await database.query<Column>(COLUMNS_OF, table);
  return await database.query<Column>(
    `SELECT name, type, "notnull", pk FROM pragma_table_info('${table}') ORDER BY cid`,
  );
}

describe('the tables', () => {
  test('have the documented columns', async () => {
    const database = await temporaryDatabase(await freshMirrorFile());
    for (const line of EXPECTED.trim().split(/\n(?=\w)/)) {
      const [, table, columns] = /^(\w+)\s+(.*)$/s.exec(line)!;
      const names = columns!.replace('*', KEPT).split(/,\s+/);
      expect({ table, names: (await columnsOf(database, table!)).map(({ name }) => name).sort() }).toEqual({
        table,
        names: names.sort(),
      });
    }
    for (const table of ['leases', 'sync_requests', 'gate_state'])
      expect((await columnsOf(database, table)).length).toBeGreaterThan(0);
  });

  test('have the columns of `COLUMNS`, in its order and with its types, all nullable', async () => {
    const database = await temporaryDatabase(await freshMirrorFile());
    for (const list of LIST_NAMES) {
      const mirrored = (await columnsOf(database, TABLES[list])).filter(
        ({ name, pk }) => pk === 0 && ![...KEPT.split(', '), 'known_since'].includes(name),
      );
      expect(mirrored.map(({ name, type, notnull }) => ({ name, type, notnull }))).toEqual(
        Object.entries(COLUMNS[list]).map(([name, kind]) => ({ name, type: SQL_TYPES[kind], notnull: 0 })),
      );
    }
  });

  test('have inbox and id as their key', async () => {
    const database = await temporaryDatabase(await freshMirrorFile());
    const keyOf = async (table: string): Promise<string[]> =>
      (await columnsOf(database, table))
        .filter(({ pk }) => pk > 0)
        .sort((a, b) => a.pk - b.pk)
        .map(({ name }) => name);
    expect(await keyOf('inboxes')).toEqual(['id']);
    for (const table of ['inbox_users', 'inbox_tags', 'conversations'])
      expect(await keyOf(table)).toEqual(['inbox_id', 'id']);
    expect(await keyOf('conversation_tags')).toEqual(['inbox_id', 'conversation_id', 'tag_id']);
  });

  test('are all described in the one Prisma schema, column by column', async () => {
    const database = await temporaryDatabase(await freshMirrorFile());
    const schema = readFileSync(join(import.meta.dirname, '../../prisma/models.prisma'), 'utf8');
    const models = [...schema.matchAll(/^model (\w+) \{\n(.*?)^\}/gms)];
    const tables = await database.query<{ name: string }>(database.dialect.tableNames);
    const names = tables
      .map(({ name }) => name)
      .filter((name) => !/^sqlite_|^_prisma_migrations$/.test(name));
    expect(new Set(models.map(([, name]) => name))).toEqual(new Set(names));
    for (const [, name, body] of models) {
      const fields = body!
        .split('\n')
        // A relation has the name of a model for its type: in lower case.
        .map((line) => /^ {2}(\w+) +[A-Z]/.exec(line)?.[1])
        .filter((field) => field !== undefined);
      expect(fields).toEqual((await columnsOf(database, name!)).map((column) => column.name));
    }
  });
});
