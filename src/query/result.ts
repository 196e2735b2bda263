import type { Dialect } from '../database/dialect.ts';

/**
 * A cell as SQL returns it. A boolean column has booleans. A value of a type that is not listed here is text.
 */
export type Cell = string | number | bigint | boolean | null | Uint8Array;

/** The answer to a query. Rows are read from the database as the caller iterates, never all at once. */
export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly isJson: boolean }[];
  readonly rows: Iterable<Cell[]> | AsyncIterable<Cell[]>;
}

/** Limits that the PostgreSQL server and its driver hold. Without one, the reader waits and receives all. */
export interface ReadLimits {
  /** The caller aborts the statement after this many ms; the server stops it a second later. */
  readonly ms?: number;
  /** A message that is certainly longer than a row of this many characters ends the session. */
  readonly charactersOfRow?: number;
}

export interface ReadOnlyMirror {
  readonly dialect: Dialect;
  /**
   * @param values of the parameters `$1`, `$2`, …
   * @throws MirrorError `USAGE` if the SQL is wrong, writes, or returns no rows
   */
  query(sql: string, values?: readonly Cell[]): Promise<QueryResult>;
  /** Call it before the first query: all queries then see the mirror as it is at the first of them. */
  holdStill(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A batch of rows in memory ends at 100 rows or at 256 Ki characters. Batches are small so that the garbage
 * collector frees their rows while they are young and moves none.
 */
export const AT_ONCE = { rows: 100, characters: 256 * 1024 } as const;

/** The approximate number of characters in a row. */
export function charactersOf(row: readonly Cell[]): number {
  let sum = 0;
  for (const cell of row)
    sum += typeof cell === 'string' || cell instanceof Uint8Array ? Math.max(8, cell.length) : 8;
  return sum;
}
