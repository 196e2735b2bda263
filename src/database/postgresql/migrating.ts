import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import type { ClientBase } from 'pg';

/**
 * The lock that Prisma's schema engine takes before the migrations. Every role that may connect can hold it
 * and would stop them, so the engine does not get to take it: {@link BEGIN_MIGRATION} locks instead.
 */
const ENGINE_LOCK = 'SELECT pg_advisory_lock(72707369)';

/** As Prisma's schema engine creates it. */
const MIGRATIONS_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum VARCHAR(64) NOT NULL,
    finished_at TIMESTAMPTZ,
    migration_name VARCHAR(255) NOT NULL,
    logs TEXT,
    rolled_back_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0)`;

/**
 * The statements that begin the migrations' transaction: one process at a time can pass them. An empty
 * database has no table to lock, so the first process creates it. Another process that creates it at the same
 * time waits for the first, fails with one of these errors, and then finds the table.
 */
export const BEGIN_MIGRATION = [
  'BEGIN',
  `DO $$ BEGIN ${MIGRATIONS_TABLE};
   EXCEPTION WHEN unique_violation OR duplicate_table OR duplicate_object THEN NULL; END $$`,
  'LOCK TABLE _prisma_migrations IN SHARE ROW EXCLUSIVE MODE',
];

/**
 * Connects for the migrations, once: a second connection would be outside of their transaction. The pool
 * drops the connection after an error. Whatever the engine then asks for fails with the same error.
 * @param pool the driver's options
 * @param options the adapter's options
 */
export function forMigrations(
  pool: { readonly onConnect: (client: ClientBase) => Promise<void> },
  options: ConstructorParameters<typeof PrismaPg>[1],
): SqlDriverAdapterFactory {
  let failure: unknown = new Error('Connection terminated during the migrations');
  const onConnect = onlyOnce(pool.onConnect, () => failure);
  const once = { ...pool, onConnect, max: 1, idleTimeoutMillis: 0 };
  const factory = new PrismaPg(once, options);
  const connect = factory.connect.bind(factory);
  factory.connect = async () => {
    const connection = await connect();
    const executeRaw = connection.executeRaw.bind(connection);
    const queryRaw = connection.queryRaw.bind(connection);
    const executeScript = connection.executeScript.bind(connection);
    const remember = (error: unknown): never => {
      failure = error;
      throw error;
    };
    connection.executeRaw = async (query) =>
      query.sql === ENGINE_LOCK ? 0 : await executeRaw(query).catch(remember);
    connection.queryRaw = (query) => queryRaw(query).catch(remember);
    connection.executeScript = (script) => executeScript(script).catch(remember);
    return connection;
  };
  return factory;
}

/** Lets a pool open only one connection; a second one fails with `why()`. */
function onlyOnce(
  onConnect: (client: ClientBase) => Promise<void>,
  why: () => unknown,
): (client: ClientBase) => Promise<void> {
  let opened = false;
  return async (client) => {
    if (opened) throw why();
    opened = true;
    await onConnect(client);
  };
}
