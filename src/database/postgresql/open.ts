import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils';
import type { ClientBase } from 'pg';
import { inTransaction, statementsOn } from '../adapter.ts';
import type { Database, TypedClient } from '../database.ts';
import { migrate } from '../migrate.ts';
import { addressOf, connectionTo, type PostgresAddress, sessionOf } from './address.ts';
import { postgresql } from './dialect.ts';
import { asPostgresError } from './errors.ts';

/** Enough for a page's transaction, a slot's, and the statements beside them. */
const CONNECTIONS = 5;

/** A process that stands still in the middle of a page loses its locks before its lease has run out. */
const SESSION = ['idle_in_transaction_session_timeout = 20000'];

/** How often a transaction is run again that got in another's way. */
const ATTEMPTS = 5;

/**
 * Opens a mirror on a PostgreSQL server, in a schema of its own where the address names one.
 * @throws MirrorError `DATABASE`
 */
export async function openPostgres(url: string): Promise<Database> {
  const address = addressOf(url);
  const { schema, name } = address;
  // The pool drops a connection that broke while nobody used it; whoever needs one next opens it anew, or says why not.
  const ignore = (): void => undefined;
  const pool = {
    ...connectionTo(address),
    onConnect: async (client: ClientBase) => void (await client.query(sessionOf(address, SESSION))),
  };
  const factory = new PrismaPg(
    { ...pool, max: CONNECTIONS },
    { schema, onPoolError: ignore, onConnectionError: ignore },
  );
  const connection = await factory.connect();
  const database = pooled(connection, address);
  try {
    await makeSchema(database, schema);
    // The engine wants one connection, kept for as long as its transaction lasts: on another one it would go on outside of it.
    const alone = { ...pool, onConnect: onlyOnce(pool.onConnect), max: 1, idleTimeoutMillis: 0 };
    await migrate(database, new PrismaPg(alone, { schema, onPoolError: ignore, onConnectionError: ignore }));
    return database;
  } catch (error) {
    await connection.dispose();
    throw asPostgresError(error, name);
  }
}

/** Lets a pool open its first connection and no second one. */
function onlyOnce(onConnect: (client: ClientBase) => Promise<void>): (client: ClientBase) => Promise<void> {
  let opened = false;
  return async (client) => {
    if (opened) throw new Error('Connection terminated in the midst of the migrations');
    opened = true;
    await onConnect(client);
  };
}

/** Makes the schema where it is missing: who may not make schemas can be given one. */
async function makeSchema(database: Database, schema: string): Promise<void> {
  const isThere = async (): Promise<boolean> => {
    const found = await database.query(`SELECT 1 FROM pg_namespace WHERE nspname = $1`, schema);
    return found.length > 0;
  };
  if (await isThere()) return;
  await database.execute(`CREATE SCHEMA "${schema}"`).catch(async (error: unknown) => {
    // Another process may have made it just now.
    if (!(await isThere())) throw error;
  });
}

/**
 * Statements go to any connection; a transaction has one to itself. This process's transactions go one after the other, since each begins
 * with the fence, whose row they would wait for anyway; but what is done alone (a slot, for one) does not wait for a page.
 */
function pooled(connection: SqlDriverAdapter, { schema, name }: PostgresAddress): Database {
  const inWords = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw asPostgresError(error, name);
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
  const outside = statementsOn(connection, postgresql);
  let closed: Promise<void> | undefined;
  let client: Promise<TypedClient> | undefined;
  const loadClient = async (): Promise<TypedClient> => {
    const { PrismaClient } = await import('../generated/postgresql/client.ts');
    const shared = {
      provider: connection.provider,
      adapterName: connection.adapterName,
      connect: () => Promise.resolve(connection),
    };
    // The same models, of which SQLite's client has told the types.
    return new PrismaClient({ adapter: shared }) as unknown as TypedClient;
  };
  return {
    dialect: postgresql,
    name,
    query: (sql, ...parameters) => inWords(() => outside.query(sql, ...parameters)),
    execute: (sql, ...parameters) => inWords(() => outside.execute(sql, ...parameters)),
    transaction: (work, alone) => {
      const first = alone === undefined ? null : postgresql.lock(alone);
      const run = (): ReturnType<typeof work> =>
        again(() => inTransaction(connection, postgresql, work, first));
      return inWords(() => (alone === undefined ? inTurn(run) : run()));
    },
    typed: (work) => inWords(async () => await work(await (client ??= loadClient()))),
    async serverTime() {
      const [row] = await this.query<{ ms: number }>(
        `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS double precision) AS ms`,
      );
      return row?.ms ?? null;
    },
    async bytes() {
      const [row] = await this.query<{ bytes: number }>(
        `SELECT CAST(sum(pg_total_relation_size(pg_class.oid)) AS bigint) AS bytes FROM pg_class
         JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1 AND relkind = 'r'`,
        schema,
      );
      return row?.bytes ?? 0;
    },
    fileIdentity: () => null,
    close: () => (closed ??= connection.dispose()),
  };
}

/** Runs a transaction again that the server has stopped to let another through. */
async function again<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw error;
    }
  }
}

function isConflict(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { kind?: unknown } | undefined) : undefined;
  return cause?.kind === 'TransactionWriteConflict';
}
