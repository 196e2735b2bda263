import type { ColumnKind } from '../core/lists.ts';

/**
 * Everything in which one database's SQL differs from another's. All other SQL in this room is written once, with `$1`
 * parameters; instants and JSON travel as text.
 */
export interface Dialect {
  readonly provider: 'sqlite' | 'postgresql';
  /** Turns a statement with `$1` parameters and their values into what the database's driver takes. */
  bind(sql: string, parameters: unknown[]): { sql: string; values: unknown[] };
  /** A query for the names of the tables there are, as `name`. */
  readonly tableNames: string;
  /** A FROM item that reads parameter `$n`, a JSON array of objects, as rows with these columns, named `alias`. A `json` column comes as text that is JSON. */
  records(parameter: string, columns: Readonly<Record<string, ColumnKind | 'json'>>, alias: string): string;
  /** A FROM item `alias(value)` that reads a JSON array of texts. */
  texts(json: string, alias: string): string;
  /** A condition: the value of `column` is one of the few that the query `values` gives; an index finds the rows. */
  oneOfFew(column: string, values: string): string;
  /** A condition: the value of `column` is none of those that the query `values` gives; quick however many there are. */
  noneOf(column: string, values: string): string;
  /** An expression: the milliseconds from the instant `from` to the instant `to`. */
  millisecondsBetween(from: string, to: string): string;
  /** The statement with which a transaction begins that no other of the same name may run beside; null where none can. */
  lock(name: string): string | null;
  /** The statements that begin the transaction of all migrations; they let in one process at a time. */
  readonly beginMigration: readonly string[];
  /** An expression for the instant so many seconds before `now` (ISO 8601; null: the database's own clock). */
  instantAgo(seconds: number, now: string | null): string;
  /** Behind a table's name in FROM: it is read by this index, whatever the planner thinks. Empty where it cannot be told, or need not be. */
  readBy(index: string): string;
  /** A query for the columns of all tables and views, in order: `name` of the table, `kind` (`table` or `view`), `column_name`. */
  readonly allColumns: string;
  /** Statements with which the database tidies its own files. */
  readonly maintenance: readonly string[];
}

export const sqlite: Dialect = {
  provider: 'sqlite',
  bind: (sql, parameters) => {
    const values: unknown[] = [];
    // The driver takes numbered parameters for named ones, so each use becomes a plain `?` with its value in order.
    const text = sql.replaceAll(/\$(\d+)/g, (_use, number: string) => {
      values.push(parameters[Number(number) - 1]);
      return '?';
    });
    return { sql: text, values };
  },
  tableNames: `SELECT name FROM sqlite_master WHERE type = 'table'`,
  records: (parameter, columns, alias) => {
    // `->>` gives SQL's own value: true is 1, and JSON text in a text is that text.
    const fields = Object.keys(columns).map((name) => `value ->> '$.${name}' AS ${name}`);
    return `(SELECT ${fields.join(', ')} FROM json_each(${parameter})) AS ${alias}`;
  },
  texts: (json, alias) => `json_each(${json}) AS ${alias}`,
  oneOfFew: (column, values) => `${column} IN (${values})`,
  noneOf: (column, values) => `${column} NOT IN (${values})`,
  millisecondsBetween: (from, to) => `ROUND((julianday(${to}) - julianday(${from})) * 86400000)`,
  // All that a process does on its one connection goes in turn, and the first write of a transaction keeps the other processes out.
  lock: () => null,
  beginMigration: ['BEGIN IMMEDIATE'],
  instantAgo: (seconds, now) => `strftime('%Y-%m-%dT%H:%M:%fZ', '${now ?? 'now'}', '-${seconds} seconds')`,
  readBy: (index) => `INDEXED BY ${index}`,
  allColumns: `SELECT master.name, master.type AS kind, info.name AS column_name
    FROM sqlite_master AS master, pragma_table_info(master.name) AS info WHERE master.type IN ('table', 'view') ORDER BY master.name, info.cid`,
  maintenance: ['PRAGMA optimize', 'PRAGMA wal_checkpoint(TRUNCATE)'],
};
