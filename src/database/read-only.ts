import { MirrorError } from '../core/errors.ts';
import { adapterError, causeOf } from './adapter.ts';
import type { Database } from './database.ts';
import type { Prisma, PrismaClient } from './generated/sqlite/client.ts';
import { contentsOf, refuseNewer, refuseOlder, shippedMigrations } from './migrations/shipped.ts';
import { isPostgres } from './open.ts';

export { Prisma } from './generated/sqlite/client.ts';

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

const RAW_READS = ['$queryRaw', '$queryRawUnsafe'] as const;

const ALLOWED: ReadonlySet<string> = new Set([...READS, ...RAW_READS]);

type ModelName = Exclude<keyof PrismaClient, `$${string}` | symbol>;

/** Prisma's typed client without everything that writes. The filters have the types of SQLite. */
export type ReadOnlyClient = {
  readonly [Name in ModelName]: Pick<PrismaClient[Name], (typeof READS)[number] & keyof PrismaClient[Name]>;
} & Pick<PrismaClient, (typeof RAW_READS)[number]> & {
    /** Runs the queries in one transaction: all of them see the mirror as it is at one moment. */
    $transaction<Queries extends Prisma.PrismaPromise<unknown>[]>(
      queries: readonly [...Queries],
    ): Promise<{ [Index in keyof Queries]: Awaited<Queries[Index]> }>;
  };

/** A mirror over a connection that cannot write: its SQL, and the typed client. */
export interface ReadOnlyDatabase {
  readonly database: Database;
  readonly client: ReadOnlyClient;
}

/**
 * Opens an existing mirror over a connection that cannot write, with Prisma's typed client. It does not
 * migrate (docs/decisions/0016).
 * @param url `file:…` or `postgresql://…`
 * @param noMirror makes the error for a database that holds no mirror
 * @throws MirrorError `DATABASE` if it cannot be opened, or another version of this program has migrated it
 */
export async function openForReading(
  url: string,
  noMirror: (name: string) => MirrorError,
): Promise<ReadOnlyDatabase> {
  const database = isPostgres(url)
    ? await (await import('./postgresql/open.ts')).openPostgresForReading(url)
    : await (await import('./sqlite/open.ts')).openSqliteForReading(url, noMirror);
  try {
    const { applied } = await contentsOf(database, database.dialect);
    if (applied.length === 0) throw noMirror(database.name);
    const shipped = shippedMigrations(database.dialect);
    refuseNewer(database.name, applied, shipped);
    refuseOlder(database.name, applied, shipped);
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
        const name = model === undefined ? operation : `${model}.${operation}`;
        if (!ALLOWED.has(operation) || (isRaw(operation) && !isReading(sqlOf(args))))
          throw writeRefused(name);
        try {
          return (await query(args)) as unknown;
        } catch (error) {
          throw asMirrorError(error, operation, database);
        }
      },
    },
  });
  // The extension's type keeps the writing operations, which it refuses.
  return guarded as unknown as ReadOnlyClient;
}

function isRaw(operation: string): boolean {
  return operation.startsWith('$');
}

/** The text of a raw query: that of `Prisma.sql`, or the first argument of `$queryRawUnsafe`. */
function sqlOf(args: unknown): string {
  if (Array.isArray(args)) return String(args[0]);
  return (args as Partial<Prisma.Sql>).sql ?? '';
}

/** True if the first word of the SQL, after comments, is that of a query. The connection refuses writes. */
function isReading(sql: string): boolean {
  return /^(?:\s|\(|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*(?:SELECT|WITH|VALUES|TABLE|EXPLAIN)\b/i.test(sql);
}

/** The codes of SQLite and PostgreSQL for a write over a connection that only reads. */
const WRITE_REFUSED = new Set(['SQLITE_READONLY', '25006']);

function asMirrorError(error: unknown, operation: string, database: Database): unknown {
  const cause = adapterError(error) ?? error;
  // A wrong call of the client is the caller's: its text may hold any word.
  if (!(cause instanceof Error) || cause.name === 'PrismaClientValidationError') return error;
  if (/connection is not open|pool after calling end/.test(cause.message))
    return new MirrorError('USAGE', 'This mirror is closed. Open it again.', { cause: error });
  if (isRaw(operation) && WRITE_REFUSED.has(causeOf(error).originalCode ?? ''))
    return writeRefused(operation, error);
  const known = database.asError(cause);
  return known === cause ? error : known;
}

function writeRefused(operation: string, cause?: unknown): MirrorError {
  return new MirrorError(
    'USAGE',
    `The mirror is read-only here, and ${operation} would write or does not begin like a query. ` +
      'Use an operation that reads, or SELECT.',
    { cause },
  );
}
