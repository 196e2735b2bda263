import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import type { SqlDriverAdapter, SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { inTransaction, statementsOn } from '../adapter.ts';
import type { Database, TypedClient } from '../database.ts';
import { migrate } from '../migrate.ts';
import { sqlite } from './dialect.ts';
import { asDatabaseError } from './errors.ts';
import { databaseBytes, fileIdentity, makePrivateFile, sqlitePath } from './file.ts';
import { keepStatements } from './kept-statements.ts';

/**
 * Opens a mirror in a file.
 * @param url `file:…`
 * @throws MirrorError `DATABASE`
 */
export async function openSqlite(url: string, busyTimeoutMs: number): Promise<Database> {
  const path = sqlitePath(url);
  makePrivateFile(path);
  const factory = new PrismaBetterSqlite3({ url: path, timeout: busyTimeoutMs });
  const connection = await open(factory, path);
  keepStatements(connection);
  const database = serialised(connection, factory, path);
  try {
    // WAL lets readers in other processes read while a page is written; FULL keeps the ledger through a power cut.
    await database.query('PRAGMA journal_mode = WAL');
    await database.execute('PRAGMA synchronous = FULL');
    await database.execute('PRAGMA foreign_keys = ON');
    await migrate(database, factory);
    return database;
  } catch (error) {
    await connection.dispose();
    throw asDatabaseError(error, path);
  }
}

async function open(factory: SqlDriverAdapterFactory, name: string): Promise<SqlDriverAdapter> {
  try {
    return await factory.connect();
  } catch (error) {
    throw asDatabaseError(error, name);
  }
}

/**
 * SQLite has one connection here, and what any caller does on it while another's transaction is open would be part of that transaction:
 * a ledger row could vanish in a roll-back. So all work on it goes one after the other.
 */
function serialised(connection: SqlDriverAdapter, factory: SqlDriverAdapterFactory, name: string): Database {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work).catch((error: unknown) => {
      throw asDatabaseError(error, name);
    });
    last = turn.catch(() => undefined);
    return turn;
  };
  const outside = statementsOn(connection, sqlite);
  // The typed client shares the connection, and comes only when asked for: it is the heaviest part to load.
  const shared = { ...namesOf(factory), connect: () => Promise.resolve(connection) };
  let client: Promise<TypedClient> | undefined;
  const loadClient = async (): Promise<TypedClient> => {
    const generated = await import('../generated/sqlite/client.ts');
    return new generated.PrismaClient({ adapter: shared });
  };
  return {
    dialect: sqlite,
    name,
    query: (sql, ...parameters) => inTurn(() => outside.query(sql, ...parameters)),
    execute: (sql, ...parameters) => inTurn(() => outside.execute(sql, ...parameters)),
    transaction: (work) => inTurn(() => inTransaction(connection, sqlite, work)),
    typed: (work) => inTurn(async () => await work(await (client ??= loadClient()))),
    serverTime: () => Promise.resolve(null),
    bytes: () => Promise.resolve(databaseBytes(name)),
    fileIdentity: () => fileIdentity(name) ?? 'deleted',
    close: () => inTurn(() => connection.dispose()),
  };
}

function namesOf({
  provider,
  adapterName,
}: SqlDriverAdapterFactory): Pick<SqlDriverAdapterFactory, 'provider' | 'adapterName'> {
  return { provider, adapterName };
}
