import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import { bindSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import Sqlite from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { VIEW_NAMES } from '../../src/database/catalogue.ts';
import { openDatabase } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrate.ts';
import { loadEngine, readMigrations } from '../../src/database/migrations/schema-engine.ts';
import { someOf } from '../support/histories.ts';
import { mirrorOf, newPlace, temporaryDatabase, temporaryFolder } from '../support/mirror.ts';
import { NEWER_MIGRATION, plantNewerMigration } from '../support/newer-migration.ts';
import { testProgram } from '../support/program.ts';
import { ON_SQLITE, onServer, urlOf } from '../support/provider.ts';
import { count } from '../support/rows.ts';
import { syncTwice } from '../support/settle.ts';
import { freshMirrorFile } from '../support/template.ts';
import { expectEqualToService } from '../support/truth.ts';

/** The only migration of the first release, which supported SQLite only. */
const FIRST = '20261121025151_first_tables';
const FOLDER = join(import.meta.dirname, '../../prisma/sqlite/migrations');

type Row = Record<string, unknown>;

/** Values that a column's type does not give: words with a meaning, the id of the only `gate_state` row. */
const MEANT: Record<string, (nth: number) => Row> = {
  changes: (nth) => ({
    list: 'conversations',
    field: nth === 1 ? 'thread_started_at' : 'presence',
    old_value: '2026-02-01T08:00:00.000Z',
  }),
  gate_state: () => ({ id: 1 }),
  leases: (nth) => ({ name: nth === 1 ? 'writer' : 'slot' }),
  rejects: () => ({ list: 'users' }),
  requests: () => ({ list: 'tags', reason: 'manual' }),
  sweep_pages: (nth) => ({ item_ids: `["${nth}", "9007199254740993"]` }),
  sweeps: (nth) => ({
    list: 'conversations',
    reason: 'resync',
    state: nth === 1 ? 'complete' : 'abandoned',
    next_page: null,
  }),
  settings: () => ({ value: '2026-02-01T08:00:00.000Z' }),
  sync_requests: () => ({ kind: 'resync', lists: '["users"]', state: 'done' }),
};

/**
 * Creates a database of the first release, or of the one that had these migrations, with two rows a table:
 * one with a value in every column, one with every possible null.
 */
async function earlierRelease(migrations = [FIRST]): Promise<string> {
  const path = join(temporaryFolder(), 'mirror.db');
  const adapters = bindSqlAdapterFactory(new PrismaBetterSqlite3({ url: path }));
  const connection = await adapters.connect();
  if (!connection.ok) throw new Error('no connection');
  const engine = await loadEngine({ ...adapters, connect: () => Promise.resolve(connection) });
  await engine.applyMigrations({
    migrationsList: readMigrations(FOLDER, migrations),
    filters: { externalTables: [], externalEnums: [] },
  });
  await connection.value.dispose();
  const database = new Sqlite(path);
  database.pragma('journal_mode = WAL');
  for (const table of tablesOf(database)) {
    const columns = database.pragma(`table_info(${table})`) as {
      name: string;
      type: string;
      notnull: number;
    }[];
    for (const nth of table === 'gate_state' ? [1] : [1, 2]) {
      const invented = columns.map(({ name, type, notnull }) => [
        name,
        nth === 2 && notnull === 0 ? null : inventedValue(table, name, type, nth),
      ]);
      const row = { ...(Object.fromEntries(invented) as Row), ...MEANT[table]?.(nth) };
      const names = Object.keys(row);
      database
        .prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
        .run(Object.values(row));
    }
  }
  database.close();
  return path;
}

function inventedValue(table: string, column: string, type: string, nth: number): unknown {
  if (type === 'DATETIME') return instantIn(column, nth);
  if (type === 'INTEGER') return nth;
  if (type === 'BOOLEAN') return nth % 2;
  if (type === 'JSONB')
    return `{"of": "${table}", "at": "2026-02-01T08:00:00.000Z", "digits": 12345678901234567890.50}`;
  return /(^|_)id$/.test(column)
    ? `90071992547409${nth}`
    : `${column} of ${table} ${nth}: "ünï" 'q' \u{1F600}\n`;
}

/** An instant as the first release stored it. A few already have the form of later releases. */
function instantIn(column: string, nth: number): string {
  const zone = nth === 2 && column === 'heartbeat_at' ? '+00:00' : 'Z';
  return `2026-02-0${nth}T0${column.length % 10}:59:59.99${nth}${zone}`;
}

function tablesOf(database: Sqlite.Database): string[] {
  const names = database
    .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
    .pluck()
    .all() as string[];
  return names.filter((name) => !/^sqlite_|^_prisma_/.test(name));
}

const OLD_ENDINGS = new Set(['.991Z', '.992Z', '.992+00:00']);
const NEW_ENDINGS = new Set(['.991+00:00', '.992+00:00']);

/** Columns that a later version no longer has. */
const DROPPED = new Set(['gate_state.clock_host', 'schedules.due_before']);

interface Dump {
  /** Each table's columns. */
  readonly columns: Record<string, readonly string[]>;
  readonly rows: Record<string, unknown[][]>;
  /** The distinct endings of all stored instants, from the milliseconds on. */
  readonly endings: ReadonlySet<string>;
}

/** All rows of every table, instants as epoch ms. With `like`, only the tables and columns of `like`. */
function dump(path: string, like?: Dump): Dump {
  const database = new Sqlite(path, { readonly: true });
  const columns: Record<string, readonly string[]> = {};
  const rows: Record<string, unknown[][]> = {};
  const endings = new Set<string>();
  for (const table of like === undefined ? tablesOf(database) : Object.keys(like.columns)) {
    columns[table] =
      like?.columns[table] ??
      (database.pragma(`table_info(${table})`) as { name: string }[])
        .map(({ name }) => name)
        .filter((name) => !DROPPED.has(`${table}.${name}`));
    const statement = database.prepare<[], unknown[]>(
      `SELECT ${columns[table].join(', ')} FROM ${table} ORDER BY 1, 2`,
    );
    const isInstant = statement.columns().map(({ type }) => type === 'DATETIME');
    const read = (value: unknown, nth: number): unknown => {
      if (!isInstant[nth] || value === null) return value;
      endings.add((value as string).slice('2026-02-01T08:00:00'.length));
      return Date.parse(value as string);
    };
    rows[table] = statement
      .raw()
      .all()
      .map((row) => row.map(read));
  }
  database.close();
  return { columns, rows, endings };
}

/** The tables after the migrations. They have no lease: a migration takes it from an older program. */
function migrated(before: Dump): Dump {
  return { ...before, rows: { ...before.rows, leases: [] } };
}

const VIEWS_INDEXES = readFileSync(
  join(import.meta.dirname, '../../prisma/views/common/indexes.sql'),
  'utf8',
);
const VIEWS_INDEX_NAMES = VIEWS_INDEXES.matchAll(/^CREATE INDEX IF NOT EXISTS (\w+)/gm)
  .map(([, name]) => `'${name}'`)
  .toArray()
  .join(', ');

/** The schema objects of the migrations, without the views and their indexes. */
function schemaOf(path: string): unknown[] {
  const database = new Sqlite(path, { readonly: true });
  const schema = database
    .prepare(
      `SELECT name, sql FROM sqlite_master WHERE type <> 'view' AND name NOT IN (${VIEWS_INDEX_NAMES}) ORDER BY name`,
    )
    .all();
  database.close();
  return schema;
}

test.runIf(ON_SQLITE)('a mirror whose instants end in `Z` keeps each of them, in every table', async () => {
  const names = readdirSync(FOLDER)
    .filter((name) => /^\d/.test(name))
    .sort();
  const path = await earlierRelease(
    names.slice(
      0,
      names.findIndex((name) => name.endsWith('_instants')),
    ),
  );
  const database = new Sqlite(path);
  // That release has no table of stored intervals.
  database.exec(VIEWS_INDEXES.replaceAll(/^CREATE INDEX .* ON status_spans .*$/gm, ''));
  database.close();
  const before = dump(path);
  expect(Object.keys(before.rows).length).toBe(17);
  await (await openDatabase(urlOf(path))).close();
  const after = dump(path, before);
  // The record of the views is a row of `settings`.
  const { settings, ...others } = after.rows;
  expect({ ...others, settings: settings?.filter(([name]) => name !== 'views') }).toEqual(
    migrated(before).rows,
  );
  expect([before.endings, after.endings]).toEqual([OLD_ENDINGS, NEW_ENDINGS]);
});

test.runIf(ON_SQLITE)('three programs that open an older mirror at once all find it migrated', async () => {
  const names = readdirSync(FOLDER).filter((name) => /^\d/.test(name));
  const path = await earlierRelease(names.sort().slice(0, -1));
  const child = join(import.meta.dirname, '../support/child-sync.ts');
  const opened = [1, 2, 3].map(async () => {
    const args = [child, 'open-only', urlOf(path)];
    return (await once(spawn(process.execPath, args, { stdio: 'ignore' }), 'close')) as unknown[];
  });
  expect(await Promise.all(opened)).toEqual([
    [0, null],
    [0, null],
    [0, null],
  ]);
});

test.runIf(ON_SQLITE)(
  'two programs with a view more that open an older mirror at once both open it',
  async () => {
    const path = await freshMirrorFile();
    const database = await temporaryDatabase(path);
    const names = VIEW_NAMES.slice(0, -1);
    await database.execute(`DROP VIEW ${VIEW_NAMES.at(-1)}`);
    await database.execute(
      `UPDATE settings SET value = $1 WHERE name = 'views'`,
      JSON.stringify({ hash: 'of the older release', names }),
    );
    await database.execute(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_long_tokens'`);
    const factory = new PrismaBetterSqlite3({ url: path });
    const connect = factory.connect.bind(factory);
    factory.connect = async () => {
      // This program has found the older mirror. The other one is faster.
      await (await openDatabase(urlOf(path))).close();
      return await connect();
    };
    await migrate(database, factory);
    await (await openDatabase(urlOf(path))).close();
    for (const view of VIEW_NAMES) await database.query(`SELECT * FROM ${view} LIMIT 1`);
  },
);

describe.runIf(ON_SQLITE)("the first release's database", () => {
  test('keeps every value and instant of every table, gets the views, and accepts the next sync', async () => {
    const path = await earlierRelease();
    const before = dump(path);
    expect(Object.keys(before.rows).length).toBe(13);
    await (await openDatabase(urlOf(path))).close();
    const after = dump(path, before);
    expect(after.rows).toEqual(migrated(before).rows);
    expect([before.endings, after.endings]).toEqual([OLD_ENDINGS, NEW_ENDINGS]);
    expect(schemaOf(path)).toEqual(schemaOf(await freshMirrorFile()));

    const mirror = await mirrorOf({ path, sandbox: { conversations: [30] } });
    for (const view of VIEW_NAMES) await mirror.database.query(`SELECT * FROM ${view}`);
    // The rows of the earlier release are invented: the sandbox is another account.
    await mirror.sync({ acceptAccount: true });
    expect((await syncTwice(mirror)).stopped).toBeNull();
    await expectEqualToService(mirror);
    mirror.sandbox.applyEvents(20);
    expect((await mirror.sync()).stopped).toBeNull();
    // A reader that continues after its last id sees no change twice.
    expect(await mirror.database.query('SELECT id FROM changes WHERE id > 2 ORDER BY id LIMIT 1')).toEqual([
      { id: 3 },
    ]);
    expect(await count(mirror.database, `requests WHERE id <= 2`)).toBe(2);
  });

  test('has its old schema, views and all rows after a killed migration, and then migrates', async () => {
    const [old, first] = [await earlierRelease(), await freshMirrorFile()];
    const before = dump(old);
    const after = { ...migrated(before), endings: NEW_ENDINGS };
    const plant = join(temporaryFolder(), 'plant.cjs');
    writeFileSync(plant, KILLS_ITSELF);
    const kill = async (words: string): Promise<void> => {
      const path = join(temporaryFolder(), 'mirror.db');
      copyFileSync(old, path);
      const args = [
        '--require',
        plant,
        join(import.meta.dirname, '../support/child-sync.ts'),
        'open-only',
        urlOf(path),
      ];
      const child = spawn(process.execPath, args, { env: { KILLED_BEFORE: words }, stdio: 'ignore' });
      expect([words, ...((await once(child, 'close')) as unknown[])]).toEqual([words, null, 'SIGKILL']);
      expect([schemaOf(path), dump(path, before)]).toEqual([schemaOf(old), before]);
      await (await openDatabase(urlOf(path))).close();
      expect([schemaOf(path), dump(path, before)]).toEqual([schemaOf(first), after]);
    };
    // Two at a time: most of the time goes into starting a process.
    for (let at = 0; at < MOMENTS.length; at += 2) await Promise.all(MOMENTS.slice(at, at + 2).map(kill));
  });
});

/** The statements of the transaction before which the process is killed. */
const MOMENTS: readonly string[] = someOf(
  [
    'RENAME TO "sync_requests"',
    'UPDATE "changes"',
    'CREATE VIEW assignments',
    'COMMIT',
    'ADD COLUMN "outage_since"',
    'DROP TABLE "sync_requests"',
    'CREATE INDEX "changes_observed_at_idx"',
    'CREATE VIEW freshness',
  ],
  4,
);

/**
 * Kills its process before the first SQLite statement that contains `KILLED_BEFORE`.
 * It runs the statements of a script one by one.
 */
const KILLS_ITSELF = `
const { prototype } = require(${JSON.stringify(join(import.meta.dirname, '../../node_modules/better-sqlite3'))});
const { exec, prepare } = prototype;
const trap = (sql) => void (sql.includes(process.env.KILLED_BEFORE) && process.kill(process.pid, 'SIGKILL'));
prototype.exec = function (script) {
  for (const sql of script.split(/;[ \\t]*\\n/)) { trap(sql); exec.call(this, sql); }
  return this;
};
prototype.prepare = function (sql) { trap(sql); return prepare.call(this, sql); };
`;

test.skipIf(ON_SQLITE)('cut-off PostgreSQL migrations leave no table and run at the next open', async () => {
  const url = await newPlace();
  // The server ends the connection that creates this table, in the middle of the migrations.
  await onServer(
    `CREATE FUNCTION cut() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
       IF to_regclass('report_days') IS NOT NULL THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
     END $$;
     CREATE EVENT TRIGGER cut ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION cut()`,
    url,
  );
  await expect(openDatabase(url)).rejects.toMatchObject({
    code: 'DATABASE',
    message: expect.stringContaining('has closed the connection'),
  });
  const tables = `DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public'); END $$`;
  await onServer(`${tables}; DROP EVENT TRIGGER cut; DROP FUNCTION cut`, url);
  const database = await temporaryDatabase(url);
  for (const view of VIEW_NAMES) await database.query(`SELECT * FROM ${view}`);
});

test('every command refuses a mirror of a newer inbox-mirror and changes nothing', async () => {
  const place = await freshMirrorFile();
  const database = await temporaryDatabase(place);
  await plantNewerMigration(database);
  const program = await testProgram({}, { DATABASE_URL: urlOf(place), HTTP_PORT: '0' });
  for (const command of COMMANDS) {
    const { exitCode, stdout, stderr } = await program.run(...command);
    expect([command, exitCode, stdout + stderr]).toEqual([command, 1, expect.stringContaining(NEWER)]);
  }
  expect(program.sandbox.arrivals).toEqual([]);
  for (const table of ['settings', 'leases', 'sync_requests', 'gate_state'])
    expect(await count(database, `${table} WHERE ${table === 'settings' ? `name <> 'views'` : 'TRUE'}`)).toBe(
      0,
    );
});

const COMMANDS = ['start', 'sync', 'resync', 'status', 'changes', 'tables', 'doctor']
  .map((command) => [command])
  .concat([
    ['query', 'SELECT 1'],
    ['lookup', 'tag', '--inbox', '1', '--name', 'x'],
  ]);

const NEWER = `was made by a newer inbox-mirror (it has the migration ${NEWER_MIGRATION}). Nothing was changed`;
