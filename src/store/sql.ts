import type { PrismaClient } from '../generated/sqlite/client.ts';
import type { Dialect } from './dialect.ts';

/** Runs SQL with `$1` parameters. Instants come back as `Date`, booleans as booleans, counts as numbers. */
export interface Sql {
  query<Row>(sql: string, ...parameters: unknown[]): Promise<Row[]>;
  /** @returns the number of rows written. */
  execute(sql: string, ...parameters: unknown[]): Promise<number>;
}

/** An open mirror. */
export interface Database extends Sql {
  readonly dialect: Dialect;
  /** For messages: the file or the address, without any password. */
  readonly name: string;
  /** All of `work` or nothing of it. Inside, only `tx` may be used. */
  transaction<Result>(work: (tx: Sql) => Promise<Result>): Promise<Result>;
  /** Prisma's typed client, for what reads better in it and is not on a page's way. */
  typed<Result>(work: (client: PrismaClient) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}
