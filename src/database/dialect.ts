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
