import { statSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import type { SqlDriverAdapter, SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { isMirrorError, MirrorError } from '../../core/errors.ts';
import {
  asRefusal,
  causeOf,
  factoryOf,
  inTransaction,
  keepDigits,
  serialQueue,
  statementsOn,
} from '../adapter.ts';
import type { Database } from '../database.ts';
import type { PrismaClient } from '../generated/sqlite/client.ts';
import { migrate, refuseUnfit } from '../migrations/migrate.ts';
import { sqlite } from './dialect.ts';
import { asOpeningError, asSqliteError } from './errors.ts';
import { databaseBytes, makePrivateFile, rememberFile, rememberFiles, sqlitePath } from './file.ts';
import { keepStatements } from './kept-statements.ts';
import { keepLog, type Keeper, leaveLog } from './log.ts';

/**
 * Opens a mirror in a file; creates the file if it is missing.
 * @param url `file:…`
 * @param busyTimeoutMs how long a statement waits for another program's lock
 * @param leavesLog closing it saves and deletes no log, except as SQLite does
 * @throws MirrorError `DATABASE`, or `CONFIG` for a file that is no database or is another program's
 */
export async function openSqlite(
  url: string,
  { busyTimeoutMs, leavesLog }: { busyTimeoutMs: number; leavesLog: boolean },
): Promise<Database> {
  const path = sqlitePath(url);
  makePrivateFile(path);
  const files = rememberFiles(path);
  const factory = new PrismaBetterSqlite3({ url: path, timeout: busyTimeoutMs });
  const connection = await open(factory, path);
  keepStatements(connection);
  const keeper = leavesLog ? leaveLog(connection, files) : keepLog(connection, files);
  const database = serialised(connection, path, keeper);
  try {
    // The file of another program keeps its journal mode.
    await refuseUnfit(database);
    // WAL: other processes can read while a page is written. FULL: the ledger survives a power cut.
    await switchToWal(database, busyTimeoutMs);
    // The first read in this mode makes the side files.
    await database.query('SELECT count(*) FROM sqlite_schema');
    files.rememberSides();
    await database.execute('PRAGMA synchronous = FULL');
    await database.execute('PRAGMA foreign_keys = ON');
    await migrate(database, factory);
    return database;
  } catch (error) {
    await connection.dispose();
    throw asRefusal(asOpeningError(error, path), path);
  }
}

/** After this many ms the switch to WAL is tried again. */
const SWITCH_RETRY_MS = 20;

/** Two processes that open a new file at once: SQLite refuses the second switch without waiting. */
async function switchToWal({ query }: Pick<Database, 'query'>, patienceMs: number): Promise<void> {
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      await query('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error;
      await setTimeout(SWITCH_RETRY_MS);
    }
  }
}

function isBusy(error: unknown): boolean {
  return causeOf(error instanceof MirrorError ? error.cause : error).originalCode === 'SQLITE_BUSY';
}

/** The variables that SQLite allows in one statement. Prisma assumes 999, too few for a wide include. */
const MOST_VARIABLES = 32_766;

/**
 * Opens an existing file over a connection that cannot write.
 * @param url `file:…`
 * @param noMirror makes the error for a missing file
 * @throws MirrorError `DATABASE`
 */
export async function openSqliteForReading(
  url: string,
  noMirror: (name: string) => MirrorError,
): Promise<Database> {
  const path = sqlitePath(url);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw noMirror(path);
  const file = rememberFile(path);
  const connection = await open(
    new PrismaBetterSqlite3({ url: path, readonly: true, fileMustExist: true }),
    path,
  );
  keepStatements(connection);
  keepDigits(connection);
  connection.getConnectionInfo = () => ({ maxBindValues: MOST_VARIABLES, supportsRelationJoins: false });
  const database = serialised(connection, path, leaveLog(connection, file));
  return {
    ...database,
    async query(sql, ...parameters) {
      if (file.lost() !== null) throw replacedFile(path);
      return await database.query(sql, ...parameters);
    },
  };
}

/** A reader would still read the old file, into which no program writes any more. */
function replacedFile(path: string): MirrorError {
  return new MirrorError(
    'DATABASE',
    `The file ${path} was deleted, or replaced by another one, after it was opened. Open it again: run the ` +
      'command again, and give it the last cursor if it followed changes.',
    { isDamage: true },
  );
}

async function open(factory: SqlDriverAdapterFactory, name: string): Promise<SqlDriverAdapter> {
  try {
    return await factory.connect();
  } catch (error) {
    throw asSqliteError(error, name);
  }
}

/**
 * Runs all work on the one connection in turn. A statement of one caller beside another's open transaction
 * would become part of that transaction: a ledger row could vanish with its roll-back.
 */
function serialised(
  connection: SqlDriverAdapter,
  name: string,
  { lost, endWrites, close }: Keeper,
): Database {
  const queue = serialQueue();
  let closed: Promise<void> | undefined;
  const inTurn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (closed !== undefined) throw new MirrorError('DATABASE', `The database ${name} is closed.`);
    try {
      return await queue(work);
    } catch (error) {
      const known = asSqliteError(error, name);
      // A page that was read wrongly once would stay in the cache, and each statement would meet it again.
      if (isMirrorError(known) && known.mayBeWhole)
        await queue(() => statements.execute('PRAGMA shrink_memory')).catch(() => undefined);
      throw asRefusal(known, name);
    }
  };
  const statements = statementsOn(connection, sqlite);
  // Loaded on first use: the typed client is the heaviest part.
  let client: Promise<PrismaClient> | undefined;
  const loadClient = async (): Promise<PrismaClient> => {
    const generated = await import('../generated/sqlite/client.ts');
    return new generated.PrismaClient({ adapter: factoryOf(connection) });
  };
  return {
    dialect: sqlite,
    name,
    query: (sql, ...parameters) => inTurn(() => statements.query(sql, ...parameters)),
    execute: (sql, ...parameters) => inTurn(() => statements.execute(sql, ...parameters)),
    // A transaction that first reads takes the write lock at once. If another program wrote in between, this
    // one could not write any more.
    transaction: (work, alone) =>
      inTurn(() => inTransaction(statements, alone === undefined ? 'BEGIN' : 'BEGIN IMMEDIATE', work)),
    typed: (work) => inTurn(async () => await work(await (client ??= loadClient()))),
    serverTime: () => Promise.resolve(null),
    bytes: () => Promise.resolve(databaseBytes(name)),
    lostFile: lost,
    endWrites: () => inTurn(endWrites),
    asError: (error) => asSqliteError(error, name),
    close: () => (closed ??= queue(close)),
  };
}
