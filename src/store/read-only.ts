import { existsSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { MirrorError } from '../core/errors.ts';
import { isPostgres, openDatabase } from './database.ts';
import { sqlite } from './dialect.ts';
import { APPLIED, refuseNewer, shippedMigrations } from './newer.ts';
import { type Cell, READ_ONLY, type ReadOnlyMirror, noMirrorYet, noRows } from './query-result.ts';
import type { Database } from './sql.ts';
import { sqlitePath } from './sqlite-path.ts';

/**
 * Opens the mirror for reading only.
 * @throws MirrorError `USAGE` where there is no mirror yet, `DATABASE` where a newer program has made it
 */
export async function openReadOnly(url: string): Promise<ReadOnlyMirror> {
  const mirror = isPostgres(url)
    ? await (await import('./read-only-postgresql.ts')).openPostgresReadOnly(url)
    : openSqliteReadOnly(url);
  try {
    refuseNewer(mirror.name, await appliedTo(mirror), shippedMigrations(mirror.dialect));
    return mirror;
  } catch (error) {
    await mirror.close();
    throw error;
  }
}

async function appliedTo(mirror: ReadOnlyMirror): Promise<string[]> {
  const texts = async (sql: string): Promise<string[]> =>
    (await Array.fromAsync((await mirror.query(sql)).rows)).map(([text]) => String(text));
  const tables = await texts(mirror.dialect.tableNames);
  // A file that is no mirror can still be asked.
  return tables.includes('_prisma_migrations') ? await texts(APPLIED) : [];
}

/**
 * As `openDatabase`, for whoever only looks and so makes no mirror.
 * @throws MirrorError `USAGE` where there is none yet
 */
export async function openExisting(url: string): Promise<Database> {
  await (await openReadOnly(url)).close();
  return await openDatabase(url);
}

/** The connection itself cannot write, whatever the SQL says. */
function openSqliteReadOnly(url: string): ReadOnlyMirror {
  const path = sqlitePath(url);
  if (!existsSync(path)) throw noMirrorYet(path);
  const database = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 });
  database.defaultSafeIntegers(true);
  return {
    dialect: sqlite,
    name: path,
    async query(sql) {
      const statement = inWords(() => database.prepare(sql));
      if (!statement.reader) throw noRows();
      const columns = statement.columns();
      const booleans = columns.map(({ type }) => type === 'BOOLEAN');
      return {
        columns: columns.map(({ name, type }) => ({ name, isJson: type === 'JSONB' })),
        rows: cells(() => statement.raw().iterate() as Iterable<Cell[]>, booleans),
      };
    },
    async close() {
      database.close();
    },
  };
}

function* cells(run: () => Iterable<Cell[]>, booleans: readonly boolean[]): Iterable<Cell[]> {
  const rows = inWords(run)[Symbol.iterator]();
  try {
    for (;;) {
      const next = inWords(() => rows.next());
      if (next.done === true) return;
      yield next.value.map((cell, index) => readable(cell, booleans[index] === true));
    }
  } finally {
    // Whoever stops reading early leaves the statement open, and the database could not be closed.
    rows.return?.();
  }
}

function readable(cell: Cell, isBoolean: boolean): Cell {
  if (typeof cell !== 'bigint') return cell;
  if (isBoolean) return cell !== 0n;
  const number = Number(cell);
  return Number.isSafeInteger(number) ? number : cell;
}

function inWords<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const code = 'code' in error ? String(error.code) : '';
    const message =
      code === 'SQLITE_READONLY'
        ? READ_ONLY
        : code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN')
          ? 'The mirror cannot be read where it lies: SQLite has to write a small file beside it, and may not. Make the folder writable, or copy the mirror to another.'
          : `The SQL cannot be run: ${error.message}.`;
    throw new MirrorError('USAGE', message, { cause: error });
  }
}
