import type { Dialect } from '../database/dialect.ts';

/** A cell as SQL gives it; a boolean column gives booleans, and what has no form of its own is text. */
export type Cell = string | number | bigint | boolean | null | Uint8Array;

/** The answer to a query: rows are read from the database as they are asked for, never all at once. */
export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly isJson: boolean }[];
  readonly rows: Iterable<Cell[]> | AsyncIterable<Cell[]>;
}

export interface ReadOnlyMirror {
  readonly dialect: Dialect;
  /** @throws MirrorError `USAGE` where the SQL is wrong, writes, or gives no rows */
  query(sql: string): Promise<QueryResult>;
  close(): Promise<void>;
}

/**
 * Of the rows in memory at a time at most so many, and no more once they hold so many characters, whatever rows are like. Few: they die young,
 * and the garbage collector need not move them.
 */
export const AT_ONCE = { rows: 100, characters: 256 * 1024 } as const;

/** About how many characters a row holds. */
export function charactersOf(row: readonly Cell[]): number {
  let sum = 0;
  for (const cell of row) sum += typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : 8;
  return sum;
}
