import type { ColumnKind } from '../core/lists.ts';
import type { CatalogueEntry, ValueKind } from './columns.ts';

/** The kind of a column of records. The values of `json` are texts that hold JSON. */
export type RecordKind = ColumnKind | 'day' | 'json' | 'integer';

/**
 * All that differs between the SQL of the databases. All other SQL of the program is written once, with `$1`
 * parameters; instants (`iso`) and JSON are passed as text.
 */
export interface Dialect {
  readonly provider: 'sqlite' | 'postgresql';
  /** Converts a statement with `$1` parameters, and their values, to the form that the driver expects. */
  bind(sql: string, parameters: unknown[]): { sql: string; values: unknown[] };
  /** A query for the `name` of every table. */
  readonly tableNames: string;
  /**
   * A FROM item, named `alias`, that reads a JSON array of objects as rows.
   * @param parameter `$n`, the array
   * @param columns the columns of the rows; in the array, a day is a text such as `2026-03-02`, the value of
   *   a `json` column is a text that holds JSON, and an instant ends in `Z` or `+00:00`. The rows have
   *   instants in their stored form.
   */
  records(parameter: string, columns: Readonly<Record<string, RecordKind>>, alias: string): string;
  /** A FROM item, named `alias`, that reads a JSON array of texts as rows with one column, `value`. */
  texts(json: string, alias: string): string;
  /**
   * A condition: `column` has one of the values that the query `values` returns. They must be few, so that an
   * index finds the rows.
   */
  oneOfFew(column: string, values: string): string;
  /**
   * A condition: `column` has none of the values that the query `values` returns. It is fast for any number
   * of them.
   */
  noneOf(column: string, values: string): string;
  /** An expression: a JSON object of these names and expressions. */
  jsonObject(fields: readonly (readonly [name: string, value: string])[]): string;
  /** An expression: the texts that a query returns as `value`, sorted by their bytes, as a JSON array. */
  jsonTexts(query: string): string;
  /** An expression: the instant `column` as text that ends in `Z`, as in `changes`. */
  instantText(column: string): string;
  /** An expression: the milliseconds from the instant `from` to the instant `to`. */
  millisecondsBetween(from: string, to: string): string;
  /**
   * An expression: the day of `report_days` on which the instant `at` lies, or the last day that has begun at
   * the instant `now` if `at` is later. Null for null, and for an instant before the first day.
   */
  dayOf(at: string, now: string): string;
  /** An aggregate: the text `value` at the earliest instant `at`, without rows where `value` is null. */
  firstOf(value: string, at: string): string;
  /** The same of the latest instant. */
  lastOf(value: string, at: string): string;
  /** An expression: a text with the letters A to Z in small ones, and no other changed (`inSmallLetters`). */
  inSmallLetters(text: string): string;
  /**
   * The first statement of a transaction of which only one with this `name` may run at a time; null where the
   * database ensures that anyway.
   */
  lock(name: string): string | null;
  /** The statements that begin the migrations' transaction. Only one process at a time can pass them. */
  readonly beginMigration: readonly string[];
  /** An expression: the instant `seconds` before `now` (ISO 8601; null: the database's clock). */
  instantAgo(seconds: number, now: string | null): string;
  /**
   * A suffix for a table's name in FROM that forces the planner to use this index. Empty where the database
   * has no such syntax or does not need it.
   */
  readBy(index: string): string;
  /**
   * A join that looks up rows of a table for each row before it, by an index, whatever the planner estimates.
   * @param condition names the table by its alias
   */
  lookUp(table: string, alias: string, condition: string): string;
  /**
   * An expression: `column` with the declared type of its kind, where `type` is what it has without. Null for
   * a database in which every expression has a type.
   */
  readonly declared: ((column: string, kind: ValueKind, type: string) => string) | null;
  /**
   * A query for the columns of all tables and views, in order: `name` (of the table), `kind` (`table` or
   * `view`), `column_name`, `type` (empty for an expression of a person's view on SQLite).
   */
  readonly allColumns: string;
  /**
   * The names of views that are not the program's and that `allColumns` lacks, and a query for the columns of
   * one (`$1`): on SQLite a view that reads what is gone would fail the query for all. Null: it lacks none.
   */
  readonly ownViews: { readonly names: string; readonly columns: string } | null;
  /** A statement that stores the catalogue's texts; null for a database without comments. */
  readonly comments: ((catalogue: readonly CatalogueEntry[]) => string) | null;
  /** Statements that make the database tidy its files. */
  readonly maintenance: readonly string[];
}
