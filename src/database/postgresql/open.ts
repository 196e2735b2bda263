import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils';
import type { ClientBase } from 'pg';
import {
  asRefusal,
  causeOf,
  factoryOf,
  inPooledTransaction,
  keepDigits,
  serialQueue,
  statementsOn,
} from '../adapter.ts';
import type { Database } from '../database.ts';
import type { PrismaClient } from '../generated/sqlite/client.ts';
import { isMirrorError, MirrorError } from '../../core/errors.ts';
import { migrate } from '../migrations/migrate.ts';
import { addressOf, connectionTo, type PostgresAddress, sessionOf } from './address.ts';
import { endWhenSilent, PooledClient } from './client.ts';
import { postgresql } from './dialect.ts';
import { asPostgresError } from './errors.ts';
import { asFailure } from './lost-tables.ts';
import { forMigrations } from './migrating.ts';
import { refuseTransactionPooling } from './pooler.ts';
import { refuseHiddenSchema, refuseMissingRights } from './rights.ts';
import { isTakenId, SequenceWatch, sequencesWereBehind } from './sequences.ts';

/** At most 5 connections: a page's transaction, a slot's, and the statements beside them. */
const CONNECTIONS = 5;

/** A process that is suspended in the middle of a page loses its locks after 20 s, before its lease ends. */
const SESSION = ['idle_in_transaction_session_timeout = 20000'];

/** With `off`, a crash of the server would lose requests that have left: the day would have room for more. */
const KEEP_COMMITTED = `SELECT set_config('synchronous_commit', 'local', false)
  WHERE current_setting('synchronous_commit') = 'off'`;

/**
 * A migration, or the sums of a day, may take longer than the limit that a role has. Servers before
 * PostgreSQL 17 do not know the setting.
 */
const NO_LIMIT = `SELECT set_config('transaction_timeout', '0', false)
  WHERE current_setting('transaction_timeout', true) IS NOT NULL`;

/** A transaction that conflicts with others runs at most 5 times. */
const ATTEMPTS = 5;

/**
 * Opens a mirror on a PostgreSQL server, in the schema that the address names; creates a missing schema.
 * @throws MirrorError `DATABASE`
 */
export async function openPostgres(url: string): Promise<Database> {
  const address = addressOf(url);
  const { schema, name } = address;
  const sequences = new SequenceWatch(schema);
  const pool = poolOf(address, SESSION, [KEEP_COMMITTED, NO_LIMIT]);
  const events = quietly(address, () => sequences.connectionLost());
  const onConnect = async (client: ClientBase): Promise<void> => {
    endWhenSilent(client);
    await pool.onConnect(client);
  };
  const connection = await new PrismaPg({ ...pool, onConnect, max: CONNECTIONS }, events).connect();
  const database = pooled(connection, address, sequences);
  try {
    await refuseOtherEncodings(database);
    await ensureSchema(database, schema);
    await migrate(database, forMigrations(pool, quietly(address)));
    return database;
  } catch (error) {
    await connection.dispose();
    throw asRefusal(asPostgresError(error, name), name);
  }
}

/**
 * Opens a mirror on a PostgreSQL server in sessions that cannot write.
 * @throws MirrorError `DATABASE`
 */
export async function openPostgresForReading(url: string): Promise<Database> {
  const address = addressOf(url);
  const pool = poolOf(address, ['default_transaction_read_only = on']);
  const connection = await new PrismaPg({ ...pool, max: CONNECTIONS }, quietly(address)).connect();
  keepDigits(connection);
  const database = pooled(connection, address);
  try {
    await refuseHiddenSchema((sql, values) => database.query(sql, ...values), address);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Checks that a missing mirror could be created, without creating it.
 * @throws MirrorError `DATABASE`, or `CONFIG` for another encoding than UTF8
 */
export async function checkPostgresCreatable(url: string): Promise<void> {
  const address = addressOf(url);
  const pool = poolOf(address, SESSION);
  const connection = await new PrismaPg({ ...pool, max: 2 }, quietly(address)).connect();
  const database = pooled(connection, address);
  try {
    // Side by side, because the migrations too need a second connection.
    await Promise.all([refuseOtherEncodings(database), refuseMissingRights(database, address)]);
  } finally {
    await database.close();
  }
}

/**
 * The options of a pool whose connections begin with these settings, then with these statements. The first
 * connection looks for a pooler. After a connection has broken, the next one looks again: the pooler may have
 * been restarted. One that the pool closes because it is idle costs no further look.
 */
function poolOf(address: PostgresAddress, settings: readonly string[], statements: readonly string[] = []) {
  let checked: Promise<void> | undefined;
  return {
    ...connectionTo(address),
    Client: PooledClient,
    onConnect: async (client: ClientBase) => {
      client.once('error', () => (checked = undefined));
      // A check that a broken connection ended is made again.
      checked ??= refuseTransactionPooling(client, address).catch((error: unknown) => {
        checked = undefined;
        throw error;
      });
      await checked;
      await client.query([sessionOf(address, settings), ...statements].join('; '));
    },
  };
}

/**
 * The adapter's options. The pool drops an idle connection that breaks; the next statement opens a new one or
 * reports why it cannot.
 */
function quietly({ schema }: PostgresAddress, onLost = (): void => undefined) {
  return { schema, onPoolError: onLost, onConnectionError: onLost };
}

/**
 * The service's texts have characters of every language, and a database keeps its encoding for good.
 * @throws MirrorError `CONFIG`
 */
async function refuseOtherEncodings({ query, name }: Database): Promise<void> {
  const [row] = await query<{ server_encoding: string }>('SHOW server_encoding');
  const encoding = row?.server_encoding;
  if (encoding === 'UTF8') return;
  throw new MirrorError(
    'CONFIG',
    `The database ${name} has the encoding ${encoding}, which cannot hold every text of the service. ` +
      'Nothing was changed; create another database ' +
      '(createdb --encoding=UTF8 --template=template0 NAME) and name it in DATABASE_URL.',
  );
}

/** Creates only a missing schema: a user without the right to create schemas can use an existing one. */
async function ensureSchema(database: Database, schema: string): Promise<void> {
  const exists = async (): Promise<boolean> => {
    const found = await database.query(`SELECT 1 FROM pg_namespace WHERE nspname = $1`, schema);
    return found.length > 0;
  };
  if (await exists()) return;
  await database.execute(`CREATE SCHEMA "${schema}"`).catch(async (error: unknown) => {
    // Another process may have created it just now.
    if (!(await exists())) throw error;
  });
}

/**
 * Statements use any connection; a transaction has one to itself. This process's transactions run in turn,
 * because each begins with the fence and would wait for its row anyway. A transaction with the `alone`
 * option, such as a slot's, does not wait for a page.
 */
function pooled(connection: SqlDriverAdapter, address: PostgresAddress, sequences?: SequenceWatch): Database {
  const { schema, name } = address;
  const statements = statementsOn(connection, postgresql);
  const transaction: Database['transaction'] = async (work, alone) => {
    const first = alone === undefined ? null : postgresql.lock(alone);
    return await retryOnConflict(() => inPooledTransaction(connection, postgresql, work, first));
  };
  const unchecked = { query: statements.query, transaction };
  const withMessage = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      await sequences?.check(unchecked);
      return await work();
    } catch (error) {
      if (isTakenId(error) && (await sequences?.check(unchecked, true)))
        throw sequencesWereBehind(error, name);
      const known = await asFailure(error, statements, address);
      if (isMirrorError(known, 'DATABASE')) sequences?.connectionLost();
      throw asRefusal(known, name);
    }
  };
  const inTurn = serialQueue();
  let closed: Promise<void> | undefined;
  let client: Promise<PrismaClient> | undefined;
  const loadClient = async (): Promise<PrismaClient> => {
    const generated = await import('../generated/postgresql/client.ts');
    // The models are those of SQLite's client, which declares the types.
    return new generated.PrismaClient({ adapter: factoryOf(connection) }) as PrismaClient;
  };
  return {
    dialect: postgresql,
    name,
    query: (sql, ...parameters) => withMessage(() => statements.query(sql, ...parameters)),
    execute: (sql, ...parameters) => withMessage(() => statements.execute(sql, ...parameters)),
    transaction: (work, alone) => {
      const run = (): ReturnType<typeof work> => transaction(work, alone);
      return withMessage(() => (alone === undefined ? inTurn(run) : run()));
    },
    typed: (work) => withMessage(async () => await work(await (client ??= loadClient()))),
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
    lostFile: () => null,
    endWrites: () => Promise.resolve(),
    asError: (error) => asPostgresError(error, name),
    close: () => (closed ??= endPool(connection)),
  };
}

/** The adapter's connection with its pool. Neither's types have what this needs. */
interface PooledConnection {
  underlyingDriver(): { readonly _pendingQueue: { readonly callback: (error: Error) => void }[] };
}

/**
 * Ends the pool. Statements that still wait for a connection fail at once, with the error of later ones.
 * The pool itself would let them wait until its time-out.
 */
async function endPool(connection: SqlDriverAdapter): Promise<void> {
  const { _pendingQueue } = (connection as SqlDriverAdapter & PooledConnection).underlyingDriver();
  const ended = connection.dispose();
  const refusal = new Error('Cannot use a pool after calling end on the pool');
  for (const { callback } of _pendingQueue.splice(0)) callback(refusal);
  await ended;
}

/** Retries a transaction that the server has stopped because of a deadlock or a conflict with another one. */
async function retryOnConflict<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw error;
    }
  }
}

function isConflict(error: unknown): boolean {
  return causeOf(error).kind === 'TransactionWriteConflict';
}
