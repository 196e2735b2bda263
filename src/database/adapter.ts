import {
  type ArgType,
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlDriverAdapterFactory,
  type SqlQuery,
  type SqlQueryable,
  type SqlResultSet,
} from '@prisma/driver-adapter-utils';
import { messageOf, MirrorError } from '../core/errors.ts';
import { roundedAsText } from '../core/json.ts';
import type { Sql } from './database.ts';
import type { Dialect } from './dialect.ts';
import { readInstant } from './instants.ts';

const UNTYPED: ArgType = { scalarType: 'unknown', arity: 'scalar' };

/**
 * Runs SQL on Prisma's driver adapter directly. The client's raw-query runtime would add about 0.4 ms of CPU
 * to each statement and double the cost of an unchanged page (docs/decisions/0005).
 */
export function statementsOn(
  queryable: Pick<SqlQueryable, 'queryRaw' | 'executeRaw'>,
  dialect: Dialect,
): Sql {
  const bind = (text: string, parameters: unknown[]): SqlQuery => {
    const { sql, values } = dialect.bind(text, parameters);
    return { sql, args: values, argTypes: values.map(() => UNTYPED) };
  };
  return {
    query: async <Row>(text: string, ...parameters: unknown[]) =>
      asRows<Row>(await queryable.queryRaw(bind(text, parameters))),
    execute: async (text, ...parameters) => await queryable.executeRaw(bind(text, parameters)),
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
  // PostgreSQL returns counts and sums as text. The service's ids are text columns and keep every digit.
  [ColumnTypeEnum.Int64, Number],
  [ColumnTypeEnum.Numeric, Number],
  [ColumnTypeEnum.DateTime, readInstant],
  [ColumnTypeEnum.Boolean, (value: unknown) => value === true || value === 1],
  [
    ColumnTypeEnum.Json,
    (value: unknown) => (typeof value === 'string' ? (JSON.parse(value) as unknown) : value),
  ],
]);

/**
 * Runs `work` in one transaction, which has a connection of a pool to itself, and rolls back if it throws.
 * @param first a statement to run before `work`
 */
export async function inPooledTransaction<Result>(
  connection: SqlDriverAdapter,
  dialect: Dialect,
  work: (tx: Sql) => Promise<Result>,
  first: string | null,
): Promise<Result> {
  const transaction = await connection.startTransaction();
  const tx = statementsOn(transaction, dialect);
  try {
    if (first !== null) await tx.execute(first);
    const result = await work(tx);
    // The adapter's `commit` and `rollback` send no SQL: they only release the connection.
    await tx.execute('COMMIT');
    await transaction.commit();
    return result;
  } catch (error) {
    await rollBack(tx);
    await transaction.rollback();
    throw error;
  }
}

/**
 * Runs `work` in one transaction on the only connection, and rolls back if it throws. The adapter's own
 * transactions would keep its lock after a `BEGIN` that fails, and all later ones would wait for ever.
 * @param begin its first statement
 */
export async function inTransaction<Result>(
  tx: Sql,
  begin: string,
  work: (tx: Sql) => Promise<Result>,
): Promise<Result> {
  await tx.execute(begin).catch(async (error: unknown) => {
    if (!messageOf(error).includes('within a transaction')) throw error;
    // A roll-back that failed has left its transaction open.
    await rollBack(tx);
    await tx.execute(begin);
  });
  try {
    const result = await work(tx);
    await tx.execute('COMMIT');
    return result;
  } catch (error) {
    await rollBack(tx);
    throw error;
  }
}

/** ROLLBACK itself fails after a full disk or a broken connection: the database has already rolled back. */
async function rollBack(tx: Sql): Promise<void> {
  await tx.execute('ROLLBACK').catch(() => undefined);
}

/** The `cause` of an adapter's error. */
export interface AdapterCause {
  readonly kind?: string;
  /** The SQLSTATE, or the code of SQLite or of the system. */
  readonly originalCode?: string;
  readonly originalMessage?: string;
  /** PostgreSQL's DETAIL. */
  readonly detail?: string;
}

/** The cause of an adapter's error, perhaps inside an error of the typed client; empty for another error. */
export function causeOf(thrown: unknown): AdapterCause {
  return adapterError(thrown)?.cause ?? {};
}

/** The adapter's error, perhaps inside an error of the typed client; null if it is another error. */
export function adapterError(thrown: unknown): Error | null {
  if (!(thrown instanceof Error)) return null;
  const { driverAdapterError } = ((thrown as { meta?: unknown }).meta ?? {}) as {
    driverAdapterError?: unknown;
  };
  if (driverAdapterError instanceof Error) return driverAdapterError;
  return thrown.name === 'DriverAdapterError' ? thrown : null;
}

/**
 * An error of the database's own, which no text of ours explains, as `STATEMENT_REFUSED`; every other error
 * unchanged. The daemon survives it, because most often it is the work of another program.
 * @param name the database
 */
export function asRefusal(thrown: unknown, name: string): unknown {
  const { originalCode: code, originalMessage } = causeOf(thrown);
  if (code === undefined) return thrown;
  const [firstLine = ''] = (originalMessage ?? '').split('\n');
  return new MirrorError(
    'STATEMENT_REFUSED',
    `The database ${name} refuses a statement: ${firstLine} (${code}). Look for a trigger, rule, ` +
      'constraint or index of your own on the tables of the mirror; without one, this is a bug. ' +
      'Nothing is lost.',
    { cause: thrown },
  );
}

/** Returns a function that runs each `work` once all earlier ones have settled. */
export function serialQueue(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

/** A factory with which Prisma's typed client uses a connection that is already open. */
export function factoryOf(connection: SqlDriverAdapter): SqlDriverAdapterFactory {
  const { provider, adapterName } = connection;
  return { provider, adapterName, connect: () => Promise.resolve(connection) };
}

/** Makes a connection return JSON in which numbers that JavaScript would round are texts. */
export function keepDigits(connection: SqlDriverAdapter): void {
  const startTransaction = connection.startTransaction.bind(connection);
  connection.startTransaction = async (level) => withDigits(await startTransaction(level));
  withDigits(connection);
}

function withDigits<Queryable extends SqlQueryable>(queryable: Queryable): Queryable {
  const queryRaw = queryable.queryRaw.bind(queryable);
  queryable.queryRaw = async (query) => {
    const result = await queryRaw(query);
    for (const [index, type] of result.columnTypes.entries()) {
      if (type !== ColumnTypeEnum.Json) continue;
      for (const row of result.rows) {
        const value = row[index];
        if (typeof value === 'string') row[index] = roundedAsText(value);
      }
    }
    return result;
  };
  return queryable;
}
