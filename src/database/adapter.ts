import {
  type ArgType,
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlQuery,
  type SqlQueryable,
  type SqlResultSet,
} from '@prisma/driver-adapter-utils';
import type { Sql } from './database.ts';
import type { Dialect } from './dialect.ts';

const AS_IT_IS: ArgType = { scalarType: 'unknown', arity: 'scalar' };

/**
 * SQL on Prisma's driver adapter itself. The client's own way for raw SQL costs some 0.4 ms of CPU a statement on top, which at six
 * statements a page is most of what an unchanged page costs (`npm run bench`).
 */
export function statementsOn(queryable: SqlQueryable, dialect: Dialect): Sql {
  const bound = (text: string, parameters: unknown[]): SqlQuery => {
    const { sql, values } = dialect.bind(text, parameters);
    return { sql, args: values, argTypes: values.map(() => AS_IT_IS) };
  };
  return {
    query: async <Row>(text: string, ...parameters: unknown[]) =>
      asRows<Row>(await queryable.queryRaw(bound(text, parameters))),
    execute: async (text, ...parameters) => await queryable.executeRaw(bound(text, parameters)),
  };
}

function asRows<Row>({ columnNames, columnTypes, rows }: SqlResultSet): Row[] {
  const readers = columnTypes.map((type) => READERS.get(type));
  return rows.map((row) => {
    const entries: Record<string, unknown> = {};
    for (const [index, name] of columnNames.entries()) {
      const value = row[index];
      const read = readers[index];
      entries[name] = value === null || value === undefined ? null : read === undefined ? value : read(value);
    }
    return entries as Row;
  });
}

const READERS: ReadonlyMap<number, (value: unknown) => unknown> = new Map([
  // Counts and sums, which PostgreSQL gives as text. Ids are text columns and keep every digit.
  [ColumnTypeEnum.Int64, Number],
  [ColumnTypeEnum.Numeric, Number],
  [ColumnTypeEnum.DateTime, (value: unknown) => new Date(value as string)],
  [ColumnTypeEnum.Boolean, (value: unknown) => value === true || value === 1],
  [
    ColumnTypeEnum.Json,
    (value: unknown) => (typeof value === 'string' ? (JSON.parse(value) as unknown) : value),
  ],
]);

/** All of `work` or nothing of it, on a connection of its own where there are several. `first` is run before it. */
export async function inTransaction<Result>(
  connection: SqlDriverAdapter,
  dialect: Dialect,
  work: (tx: Sql) => Promise<Result>,
  first: string | null = null,
): Promise<Result> {
  const transaction = await connection.startTransaction();
  const tx = statementsOn(transaction, dialect);
  try {
    if (first !== null) await tx.execute(first);
    const result = await work(tx);
    await tx.execute('COMMIT');
    await transaction.commit();
    return result;
  } catch (error) {
    // A full disk rolls back by itself, as does a connection that broke; then there is nothing left to roll back.
    await tx.execute('ROLLBACK').catch(() => undefined);
    await transaction.rollback();
    throw error;
  }
}
