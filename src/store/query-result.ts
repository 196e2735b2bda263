import { MirrorError } from '../core/errors.ts';
import type { Dialect } from './dialect.ts';

/** A cell as SQL gives it; a boolean column gives booleans, and what has no form of its own is text. */
export type Cell = string | number | bigint | boolean | null | Uint8Array;

/** The answer to a query: rows are read from the database as they are asked for, never all at once. */
export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly isJson: boolean }[];
  readonly rows: Iterable<Cell[]> | AsyncIterable<Cell[]>;
}

export interface ReadOnlyMirror {
  readonly dialect: Dialect;
  /** For messages: the file or the address, without any password. */
  readonly name: string;
  /** @throws MirrorError `USAGE` where the SQL is wrong, writes, or gives no rows */
  query(sql: string): Promise<QueryResult>;
  close(): Promise<void>;
}

/** Where the mirror should lie there is none. */
export function noMirrorYet(name: string): MirrorError {
  return new MirrorError(
    'USAGE',
    `There is no mirror at ${name} yet. \`inbox-mirror sync\` makes one; DATABASE_URL says where it lies.`,
  );
}

/** A statement that only does something. */
export function noRows(): MirrorError {
  return new MirrorError('USAGE', 'This statement gives no rows, and the mirror is read-only here. Use SELECT.');
}

export const READ_ONLY = 'The mirror is read-only here, so that a query cannot harm it. Use SELECT.';
