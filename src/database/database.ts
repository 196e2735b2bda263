import type { Dialect } from './dialect.ts';
import type { PrismaClient } from './generated/sqlite/client.ts';

/**
 * Runs SQL with `$1` parameters. Returns counts as numbers, a column's instants as `Date` and its booleans as
 * booleans. On SQLite an expression has no such type: its instant is text, its boolean 0 or 1.
 */
export interface Sql {
  query<Row>(sql: string, ...parameters: unknown[]): Promise<Row[]>;
  /** @returns the number of rows written */
  execute(sql: string, ...parameters: unknown[]): Promise<number>;
}

/** An open mirror. */
export interface Database extends Sql {
  readonly dialect: Dialect;
  /** For messages: the file, or the address without its password. */
  readonly name: string;
  /**
   * Runs `work` in one transaction. `work` may use only `tx`. It runs again if the transaction conflicts with
   * another.
   * @param alone a name: only one transaction of this name runs at a time, in all processes
   */
  transaction<Result>(work: (tx: Sql) => Promise<Result>, alone?: string): Promise<Result>;
  /** Runs `work` on Prisma's typed client. It costs 40 MB of memory, so the daemon does not use it. */
  typed<Result>(work: (client: PrismaClient) => Promise<Result>): Promise<Result>;
  /** The database server's clock, epoch ms; null for a file. */
  serverTime(): Promise<number | null>;
  /** Bytes on disk. */
  bytes(): Promise<number>;
  /**
   * The path of a file of the mirror that was deleted, replaced or cut since it was opened; null if there is
   * none, and for a server. Saves the log of a file that has lost its name. Deletes its side files if another
   * file has the name, or, after `endWrites`, once the log is saved.
   */
  lostFile(): string | null;
  /** Refuses all that would be written into a file from now on. A server's database stays as it is. */
  endWrites(): Promise<void>;
  /** A known failure of the database as MirrorError `DATABASE`; every other error unchanged. */
  asError(error: unknown): unknown;
  close(): Promise<void>;
}

/**
 * SQL with named parameters (`:name`) in the numbered form that {@link Sql} takes.
 * @returns the arguments for `query` and `execute`
 */
export function named(
  sql: string,
  values: Readonly<Record<string, unknown>>,
): [sql: string, ...parameters: unknown[]] {
  const names: string[] = [];
  const text = sql.replaceAll(/:([a-z]\w*)/gi, (_use, name: string) => {
    if (!(name in values)) throw new Error(`the statement has no value for :${name}`);
    const known = names.indexOf(name);
    return `$${known === -1 ? names.push(name) : known + 1}`;
  });
  return [text, ...names.map((name) => values[name])];
}
