import { MirrorError } from '../core/errors.ts';
import type { Database } from './database.ts';
import type { PrismaClient } from './generated/sqlite/client.ts';
import { APPLIED, refuseOlder, shippedMigrations } from './migrations/shipped.ts';
import { isPostgres } from './open.ts';

export type { Prisma } from './generated/sqlite/client.ts';

/** Prisma's operations on a model or a view that only read. */
const READS = [
  'findUnique',
  'findUniqueOrThrow',
  'findFirst',
  'findFirstOrThrow',
  'findMany',
  'count',
  'aggregate',
  'groupBy',
] as const;

/** The raw queries, which the database itself keeps from writing. */
const RAW_READS = ['$queryRaw', '$queryRawUnsafe'] as const;

const ALLOWED: ReadonlySet<string> = new Set([...READS, ...RAW_READS]);

type ModelName = Exclude<keyof PrismaClient, `$${string}` | symbol>;

/** Prisma's typed client without everything that writes. Both databases have the same models and views. */
export type ReadOnlyClient = {
  readonly [Name in ModelName]: Pick<PrismaClient[Name], (typeof READS)[number] & keyof PrismaClient[Name]>;
} & Pick<PrismaClient, (typeof RAW_READS)[number]>;

/** A mirror over a connection that cannot write: its SQL, and the typed client. */
export interface ReadOnlyDatabase {
  readonly database: Database;
  readonly client: ReadOnlyClient;
}

/**
 * Opens an existing mirror over a connection that cannot write, with Prisma's typed client.
 * @param url `file:…` or `postgresql://…`
 * @throws MirrorError `DATABASE` if it cannot be opened, or this program has not migrated it yet
 */
export async function openForReading(url: string): Promise<ReadOnlyDatabase> {
  const database = isPostgres(url)
    ? await (await import('./postgresql/open.ts')).openPostgresForReading(url)
    : await (await import('./sqlite/open.ts')).openSqliteForReading(url);
  try {
    const applied = await database.query<{ migration_name: string }>(APPLIED);
    refuseOlder(
      database.name,
      applied.map((row) => row.migration_name),
      shippedMigrations(database.dialect),
    );
    // No transaction of ours runs on this connection, so the client need not wait for its turn.
    const client = await database.typed((typed) => Promise.resolve(typed));
    return { database, client: withoutWrites(client, database) };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The client, whose writes and whose known database errors throw MirrorError. */
function withoutWrites(client: PrismaClient, database: Database): ReadOnlyClient {
  const guarded = client.$extends({
    query: {
      async $allOperations({ model, operation, args, query }) {
        if (!ALLOWED.has(operation))
          throw writeRefused(`${model === undefined ? '' : `${model}.`}${operation}`);
        try {
          return (await query(args)) as unknown;
        } catch (error) {
          throw asMirrorError(error, operation, database);
        }
      },
    },
  });
  return guarded as unknown as ReadOnlyClient;
}

/** What Prisma's client throws for an error of the database; `meta` holds the driver adapter's own error. */
interface RequestError extends Error {
  readonly meta?: { readonly driverAdapterError?: unknown };
}

function asMirrorError(error: unknown, operation: string, database: Database): unknown {
  const cause = (error as RequestError).meta?.driverAdapterError ?? error;
  // A wrong call of the client is the caller's: its text may hold any word.
  if (!(cause instanceof Error) || cause.name === 'PrismaClientValidationError') return error;
  if (
    /SQLITE_READONLY|25006|read-only transaction/.test(
      `${cause.message} ${JSON.stringify(cause.cause ?? '')}`,
    )
  )
    return writeRefused(operation, error);
  const known = database.asError(cause);
  return known === cause ? error : known;
}

function writeRefused(operation: string, cause?: unknown): MirrorError {
  return new MirrorError(
    'USAGE',
    `The mirror is read-only here, and ${operation} would write. Use a query that only reads.`,
    { cause },
  );
}
