import type { Dialect } from './dialect.ts';
import type { PrismaClient } from './generated/sqlite/client.ts';

/** Runs SQL with `$1` parameters. Instants come back as `Date`, booleans as booleans, counts as numbers. */
export interface Sql {
  query<Row>(sql: string, ...parameters: unknown[]): Promise<Row[]>;
  /** @returns the number of rows written. */
  execute(sql: string, ...parameters: unknown[]): Promise<number>;
}

/** Prisma's typed client, as far as it is used. */
export type TypedClient = Pick<PrismaClient, 'sync_requests'>;

/** An open mirror. */
export interface Database extends Sql {
  readonly dialect: Dialect;
  /** For messages: the file or the address, without any password. */
  readonly name: string;
  /**
   * All of `work` or nothing of it. Inside, only `tx` may be used; where the database could not let it through beside another's, it is run again.
   * @param alone names what no two transactions of that name do at the same time, whatever process they are of
   */
  transaction<Result>(work: (tx: Sql) => Promise<Result>, alone?: string): Promise<Result>;
  /** Prisma's typed client, for what reads better in it and is not on a page's way. */
  typed<Result>(work: (client: TypedClient) => Promise<Result>): Promise<Result>;
  /** The time by the database server's clock, epoch ms; null where the database is a file of this machine. */
  serverTime(): Promise<number | null>;
  /** Bytes that the mirror takes on disk. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}
