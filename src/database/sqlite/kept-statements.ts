import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils';
import type { Database, Statement } from 'better-sqlite3';

/** At most 300 statements per connection. A daemon has fewer; the typed client and a command add a few. */
const MOST_KEPT = 300;

/**
 * Only these statements are kept. Some pragmas take effect when they are prepared, and schema changes run
 * once.
 */
const KEPT = /^\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE|BEGIN|COMMIT|ROLLBACK)\b/i;

/** The part of a driver's statement that Prisma's adapter uses. */
interface Preparing {
  bind(values: unknown[]): Bound;
  run(): unknown;
}

interface Bound extends Pick<Statement, 'reader' | 'run' | 'columns'> {
  raw(): { all(): unknown[] };
}

/**
 * Makes a connection keep its prepared statements. Prisma's adapter prepares each statement again, which is
 * half the cost of a small statement and a fifth of a sync's CPU.
 */
export function keepStatements(connection: SqlDriverAdapter): void {
  // The adapter's transactions also use this field. It is private: if a release moves it, only the speed is
  // lost.
  const adapter = connection as SqlDriverAdapter & { client?: Database };
  const { client } = adapter;
  if (typeof client?.prepare !== 'function') return;
  const kept = new Map<string, Statement>();
  const statementOf = (sql: string): Statement => {
    const known = kept.get(sql);
    const statement = known ?? client.prepare(sql);
    if (!KEPT.test(sql)) return statement;
    // The last entry is the one used most recently.
    kept.delete(sql);
    kept.set(sql, statement);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value ?? '');
    return statement;
  };
  const prepare = (sql: string): Preparing => {
    const statement = statementOf(sql);
    return { bind: (values) => boundTo(statement, values), run: () => statement.run() };
  };
  const facade = { prepare, exec: (sql: string) => client.exec(sql), close: () => client.close() };
  adapter.client = facade as unknown as Database;
}

/** Passes the values with each run: the driver's `bind` binds a statement permanently. */
function boundTo(statement: Statement, values: unknown[]): Bound {
  // The rows are read before the columns: SQLite notices another process's schema change only when it runs.
  let rows: unknown[] | undefined;
  const all = (): unknown[] => (rows ??= statement.raw().all(values));
  return {
    reader: statement.reader,
    run: () => statement.run(values),
    columns: () => (all(), statement.columns()),
    raw: () => ({ all }),
  };
}
