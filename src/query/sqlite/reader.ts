import { existsSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { APPLIED, refuseNewer, shippedMigrations } from '../../database/migrations.ts';
import { sqlite } from '../../database/sqlite/dialect.ts';
import {
  hintOf,
  type NamedColumn,
  noMirrorYet,
  noRows,
  readOnlyHere,
  refuseEmpty,
  severalStatements,
  wrongSql,
} from '../faults.ts';
import type { Cell, QueryResult, ReadOnlyMirror } from '../result.ts';
import { placeOf } from './place.ts';

/**
 * Opens a file for reading only: the connection itself cannot write, whatever the SQL says. Whoever reads stands still meanwhile.
 * @throws MirrorError `USAGE` where there is no mirror yet, `DATABASE` where a newer program has made it
 */
export function openSqliteReadOnly(path: string): ReadOnlyMirror {
  if (!existsSync(path)) throw noMirrorYet(path);
  const database = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 });
  try {
    refuseNewer(path, appliedTo(database), shippedMigrations(sqlite));
  } catch (error) {
    const fault = asFault(database, APPLIED, error);
    database.close();
    throw fault;
  }
  database.defaultSafeIntegers(true);
  return {
    dialect: sqlite,
    async query(sql) {
      refuseEmpty(sql);
      const inWords = <Result>(work: () => Result): Result => {
        try {
          return work();
        } catch (error) {
          throw asFault(database, sql, error);
        }
      };
      const statement = inWords(() => database.prepare(sql));
      if (!statement.reader) throw noRows();
      const columns = statement.columns();
      const booleans = columns.map(({ type }) => type === 'BOOLEAN');
      return {
        columns: columns.map(({ name, type }) => ({ name, isJson: type === 'JSONB' })),
        rows: cells(() => statement.raw().iterate() as Iterable<Cell[]>, booleans, inWords),
      };
    },
    async close() {
      database.close();
    },
  };
}

/** A file that is no mirror can still be asked. */
function appliedTo(database: SqliteDatabase.Database): string[] {
  const texts = (sql: string): string[] => database.prepare<[], string>(sql).pluck().all();
  return texts(sqlite.tableNames).includes('_prisma_migrations') ? texts(APPLIED) : [];
}

function* cells(
  run: () => Iterable<Cell[]>,
  booleans: readonly boolean[],
  inWords: <Result>(work: () => Result) => Result,
): QueryResult['rows'] & Iterable<Cell[]> {
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

function asFault(database: SqliteDatabase.Database, sql: string, error: unknown): unknown {
  if (!(error instanceof Error) || isMirrorError(error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'SQLITE_READONLY') return readOnlyHere(error);
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN'))
    return new MirrorError(
      'USAGE',
      'The mirror cannot be read where it lies: SQLite has to write a small file beside it, and may not. Make the folder writable, or copy the mirror to another.',
      { cause: error },
    );
  const said = error.message;
  if (said.includes('more than one statement')) return severalStatements(error);
  const missing = /^no such (table|column): (.*?)(?: - should this be .*)?$/s.exec(said);
  const hint =
    missing === null
      ? null
      : hintOf(missing[1] as 'table' | 'column', missing[2] ?? '', sql, allColumns(database));
  return wrongSql(sql, {
    said,
    at: placeOf(sql, said, (text) => objectionOf(database, text)),
    hint,
    cause: error,
  });
}

function allColumns(database: SqliteDatabase.Database): NamedColumn[] {
  return database.prepare<[], NamedColumn>(sqlite.allColumns).raw().all();
}

function objectionOf(database: SqliteDatabase.Database, sql: string): string | null {
  try {
    database.prepare(sql);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
