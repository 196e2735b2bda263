import { chmodSync, closeSync, existsSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import { MirrorError } from '../core/errors.ts';
import { PrismaClient } from '../generated/sqlite/client.ts';
import { asDatabaseError } from './database-errors.ts';
import { sqlite } from './dialect.ts';
import { migrate } from './migrate.ts';
import type { Database, Sql } from './sql.ts';

const BUSY_TIMEOUT = 10_000;

/** The path in a `file:` address, relative to the working directory. */
export function sqlitePath(url: string): string {
  return resolve(url.replace(/^file:(\/\/(?=\/))?/, ''));
}

/**
 * Opens the mirror, makes it and brings its tables up to date where needed (DESIGN.md, "Environment").
 * @param url `file:…`
 * @throws MirrorError `DATABASE` where it cannot be opened, is locked, or was made by a newer program.
 */
export async function openDatabase(url: string): Promise<Database> {
  const path = sqlitePath(url);
  makePrivateFile(path);
  const factory = new PrismaBetterSqlite3({ url: path, timeout: BUSY_TIMEOUT });
  const prisma = new PrismaClient({ adapter: factory });
  const database = serialised(prisma, path);
  try {
    // WAL lets readers in other processes read while a page is written; FULL keeps the ledger through a power cut.
    await database.query('PRAGMA journal_mode = WAL');
    await database.execute('PRAGMA synchronous = FULL');
    await database.execute('PRAGMA foreign_keys = ON');
    await migrate(database, factory);
    return database;
  } catch (error) {
    await prisma.$disconnect();
    throw asDatabaseError(error, path);
  }
}

/** The content is private: the file is made with mode 0600, and SQLite gives its side files the same. */
function makePrivateFile(path: string): void {
  try {
    if (existsSync(path)) return;
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
  } catch (error) {
    throw new MirrorError(
      'DATABASE',
      `Cannot make the database file ${path}: ${error instanceof Error ? error.message : String(error)}. ` +
        `Check that the folder ${dirname(path)} exists and may be written to, or set DATABASE_URL to another place.`,
      { cause: error },
    );
  }
}

/**
 * SQLite has one connection here, and what any caller does on it while another's transaction is open would be part of that transaction:
 * a ledger row could vanish in a roll-back. So all work on it goes one after the other.
 */
function serialised(prisma: PrismaClient, name: string): Database {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work).catch((error: unknown) => {
      throw asDatabaseError(error, name);
    });
    last = turn.catch(() => undefined);
    return turn;
  };
  const outside = statements(prisma);
  return {
    dialect: sqlite,
    name,
    query: (sql, ...parameters) => inTurn(() => outside.query(sql, ...parameters)),
    execute: (sql, ...parameters) => inTurn(() => outside.execute(sql, ...parameters)),
    transaction: (work) => inTurn(() => prisma.$transaction((tx) => work(statements(tx)), { maxWait: 60_000, timeout: 600_000 })),
    close: () => inTurn(() => prisma.$disconnect()),
  };
}

function statements(client: Pick<PrismaClient, '$queryRawUnsafe' | '$executeRawUnsafe'>): Sql {
  return {
    query: async (text, ...parameters) => {
      const { sql, values } = sqlite.bind(text, parameters);
      return plainNumbers(await client.$queryRawUnsafe(sql, ...values));
    },
    execute: async (text, ...parameters) => {
      const { sql, values } = sqlite.bind(text, parameters);
      return await client.$executeRawUnsafe(sql, ...values);
    },
  };
}

/** Counts come as bigint where SQL names no type; ids are text, so no number here is past what a JavaScript number holds. */
function plainNumbers<Row>(rows: Row[]): Row[] {
  for (const row of rows as Record<string, unknown>[]) {
    for (const name in row) if (typeof row[name] === 'bigint') row[name] = Number(row[name]);
  }
  return rows;
}
