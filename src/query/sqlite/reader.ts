import SqliteDatabase from 'better-sqlite3';
import { codeOf, isMirrorError, messageOf } from '../../core/errors.ts';
import { asOpeningError, asSqliteError } from '../../database/sqlite/errors.ts';
import { APPLIED, refuseNewer, shippedMigrations } from '../../database/migrations/shipped.ts';
import { sqlite } from '../../database/sqlite/dialect.ts';
import {
  hintOf,
  type NamedColumn,
  noRows,
  olderMirror,
  readOnlyHere,
  refuseNoStatement,
  severalStatements,
  wrongSql,
} from '../faults.ts';
import type { Cell, QueryResult, ReadOnlyMirror } from '../result.ts';
import { nameOf, tokensOf } from '../tokens.ts';
import { positionOf } from './error-position.ts';
import { checkReadable, noSideFiles } from './readable.ts';

/**
 * Opens a file over a connection that cannot write. Each read blocks the calling thread.
 * @throws MirrorError `USAGE` if there is no mirror yet or this account may not read it, `CONFIG` if the file
 *   is no database, `DATABASE` if a newer program has migrated it
 */
export function openSqliteReadOnly(path: string): ReadOnlyMirror {
  checkReadable(path);
  const database = openFile(path);
  const file = { database, applied: [] as readonly string[] };
  try {
    file.applied = appliedTo(database);
    refuseNewer(path, file.applied, shippedMigrations(sqlite));
  } catch (error) {
    const fault = asOpeningError(asFault(file, APPLIED, error), path);
    database.close();
    throw fault;
  }
  database.defaultSafeIntegers(true);
  return {
    dialect: sqlite,
    async query(text, values = []) {
      refuseNoStatement(text);
      // A text without values is a person's: its `$1` is wrong SQL, with its place.
      const { sql, values: bound } =
        values.length === 0 ? { sql: text, values: [] } : sqlite.bind(text, [...values]);
      const withFault = <Result>(work: () => Result): Result => {
        try {
          return work();
        } catch (error) {
          throw asFault(file, sql, error);
        }
      };
      const statement = withFault(() => database.prepare(sql));
      if (!statement.reader) throw noRows();
      const columns = statement.columns();
      const booleans = columns.map(({ type }) => type === 'BOOLEAN');
      return {
        columns: columns.map(({ name, type }) => ({ name, isJson: type === 'JSONB' })),
        rows: cells(() => statement.raw().iterate(...bound) as Iterable<Cell[]>, booleans, withFault),
      };
    },
    async holdStill() {
      database.exec('BEGIN');
    },
    async close() {
      database.close();
    },
  };
}

/** A file without the table of migrations is not a mirror, but can still be queried. */
function appliedTo(database: SqliteDatabase.Database): string[] {
  const texts = (sql: string): string[] => database.prepare<[], string>(sql).pluck().all();
  return texts(sqlite.tableNames).includes('_prisma_migrations') ? texts(APPLIED) : [];
}

function* cells(
  run: () => Iterable<Cell[]>,
  booleans: readonly boolean[],
  withFault: <Result>(work: () => Result) => Result,
): QueryResult['rows'] & Iterable<Cell[]> {
  const rows = withFault(run)[Symbol.iterator]();
  try {
    for (;;) {
      const next = withFault(() => rows.next());
      if (next.done === true) return;
      yield next.value.map((cell, index) => readable(cell, booleans[index] === true));
    }
  } finally {
    // A statement that is still open, because its reader stopped early, would keep the database from closing.
    rows.return?.();
  }
}

function readable(cell: Cell, isBoolean: boolean): Cell {
  if (typeof cell !== 'bigint') return cell;
  if (isBoolean) return cell !== 0n;
  const number = Number(cell);
  return Number.isSafeInteger(number) ? number : cell;
}

function openFile(path: string): SqliteDatabase.Database {
  try {
    return new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 });
  } catch (error) {
    throw asSqliteError(error, path);
  }
}

/** Here the file is at fault, not the person's SQL. */
const OF_THE_FILE = /^SQLITE_(NOTADB|CORRUPT|IOERR)/;

/** A PRAGMA that would write fails with these: the file is open for reading only. */
const OF_A_WRITE = /^SQLITE_(?:BUSY|IOERR_(?:LOCK|WRITE))$/;

function isPragma(sql: string): boolean {
  const [first] = tokensOf(sql);
  return first !== undefined && nameOf(first) === 'pragma';
}

/** An open file, and the names of the migrations that it has. */
interface OpenFile {
  readonly database: SqliteDatabase.Database;
  readonly applied: readonly string[];
}

function asFault({ database, applied }: OpenFile, sql: string, error: unknown): unknown {
  if (!(error instanceof Error) || isMirrorError(error)) return error;
  const code = codeOf(error) ?? '';
  if (OF_A_WRITE.test(code) && isPragma(sql)) return readOnlyHere(error);
  if (OF_THE_FILE.test(code)) return asSqliteError(error, database.name);
  if (code === 'SQLITE_READONLY') return readOnlyHere(error);
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN'))
    return noSideFiles(database.name, error);
  const { message } = error;
  if (message.includes('more than one statement')) return severalStatements(error);
  const missing = /^no such (table|column): (.*?)(?: - should this be .*)?$/s.exec(message);
  const kind = missing?.[1] as 'table' | 'column' | undefined;
  const name = missing?.[2] ?? '';
  const mirror = { dialect: sqlite, name: database.name, applied };
  const older = kind === undefined ? null : olderMirror(mirror, { kind, name }, sql);
  if (older !== null) return older;
  const hint = kind === undefined ? null : hintOf(kind, name, sql, allColumns(database));
  return wrongSql(sql, {
    message,
    at: positionOf(sql, message, (text) => prepareError(database, text)),
    hint,
    cause: error,
  });
}

function allColumns(database: SqliteDatabase.Database): NamedColumn[] {
  const columns = database.prepare<[], NamedColumn>(sqlite.allColumns).raw().all();
  const { names = '', columns: ofOne = '' } = sqlite.ownViews ?? {};
  for (const name of database.prepare<[], string>(names).pluck().all()) {
    const { sql, values } = sqlite.bind(ofOne, [name]);
    try {
      columns.push(
        ...database
          .prepare<unknown[], NamedColumn>(sql)
          .raw()
          .all(...values),
      );
    } catch {
      // The view reads what is gone: it has no columns.
    }
  }
  return columns;
}

function prepareError(database: SqliteDatabase.Database, sql: string): string | null {
  try {
    database.prepare(sql);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}
