import { existsSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { MirrorError } from '../core/errors.ts';
import { sqlitePath } from './database.ts';

/** A cell as SQL gives it; a boolean column gives booleans. */
export type Cell = string | number | bigint | boolean | null | Uint8Array;

/** The answer to a query: rows are read from the database one at a time, as they are asked for. */
export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly isJson: boolean }[];
  readonly rows: Iterable<Cell[]>;
}

export interface ReadOnlyMirror {
  /** @throws MirrorError `USAGE` where the SQL is wrong, writes, or gives no rows */
  query(sql: string): QueryResult;
  close(): void;
}

/**
 * Opens the mirror for reading only: the connection itself cannot write, whatever the SQL says.
 * @throws MirrorError `USAGE` where there is no mirror yet
 */
export function openReadOnly(url: string): ReadOnlyMirror {
  const path = sqlitePath(url);
  if (!existsSync(path)) {
    throw new MirrorError(
      'USAGE',
      `There is no mirror at ${path} yet. \`inbox-mirror sync\` makes one; DATABASE_URL says where it lies.`,
    );
  }
  const database = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 });
  database.defaultSafeIntegers(true);
  return {
    query(sql) {
      const statement = inWords(() => database.prepare(sql));
      if (!statement.reader)
        throw new MirrorError('USAGE', 'This statement gives no rows, and the mirror is read-only here. Use SELECT.');
      const columns = statement.columns();
      const booleans = columns.map(({ type }) => type === 'BOOLEAN');
      return {
        columns: columns.map(({ name, type }) => ({ name, isJson: type === 'JSONB' })),
        rows: cells(() => statement.raw().iterate() as Iterable<Cell[]>, booleans),
      };
    },
    close: () => database.close(),
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
        ? 'The mirror is read-only here, so that a query cannot harm it. Use SELECT.'
        : code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN')
          ? 'The mirror cannot be read where it lies: SQLite has to write a small file beside it, and may not. Make the folder writable, or copy the mirror to another.'
          : `The SQL cannot be run: ${error.message}.`;
    throw new MirrorError('USAGE', message, { cause: error });
  }
}
