import type { QueryArrayResult } from 'pg';
import type Cursor from 'pg-cursor';
import { AT_ONCE, type Cell, charactersOf } from '../result.ts';

/** The first read is of 50 rows: their size is still unknown. */
export const ROWS_AT_FIRST = 50;

/** A later read is of at most 1000 rows. Each read costs a round trip to the server. */
const MOST_ROWS = 1000;

export interface Batch {
  readonly rows: Cell[][];
  readonly fields: QueryArrayResult['fields'];
}

/** Reads at most `rows` rows. Without rows, or with fewer, the result has ended. */
export async function readBatch(cursor: Cursor<Cell[]>, rows: number): Promise<Batch> {
  return await new Promise((resolve, reject) => {
    cursor.read(rows, (error, found, result) => {
      if (error instanceof Error) reject(error);
      else resolve({ rows: found, fields: result.fields });
    });
  });
}

/** The server prepares the next batch while the caller uses this one. */
export async function* rowsOf(
  first: Cell[][],
  more: (rows: number) => Promise<Cell[][]>,
): AsyncGenerator<Cell[]> {
  let wanted = ROWS_AT_FIRST;
  for (let next: Promise<Cell[][]> | null = Promise.resolve(first); next !== null;) {
    const rows: Cell[][] = await next;
    next = rows.length < wanted ? null : more((wanted = rowsToRead(rows)));
    // If the caller stops reading, no code awaits this batch.
    next?.catch(() => undefined);
    for (const row of rows) yield row;
  }
}

/** How many rows like these make a batch. */
function rowsToRead(rows: readonly Cell[][]): number {
  const characters = rows.reduce((sum, row) => sum + charactersOf(row), 0);
  const fitting = Math.floor((AT_ONCE.characters * rows.length) / Math.max(1, characters));
  return Math.max(1, Math.min(MOST_ROWS, fitting));
}
