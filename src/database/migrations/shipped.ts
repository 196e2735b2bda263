import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MirrorError } from '../../core/errors.ts';
import type { Database, Sql } from '../database.ts';
import type { Dialect } from '../dialect.ts';

/** Three folders up from src/database/migrations, and from dist/database/migrations. */
const FOLDER = join(import.meta.dirname, '../../../prisma');

/** At most 3 table names of another program in the message. */
const MOST_NAMED = 3;

/**
 * A query for the `migration_name` of each applied migration. It fails if the table `_prisma_migrations` is
 * missing.
 */
export const APPLIED =
  'SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL';

/**
 * Refuses a database that a newer program has migrated since this process opened it.
 * @throws MirrorError `DATABASE`
 */
export async function refuseMigrated(database: Database): Promise<void> {
  const { applied } = await contentsOf(database, database.dialect);
  refuseNewer(database.name, applied, shippedMigrations(database.dialect));
}

/** The names of a database's tables, and of the migrations applied to it: none without a mirror. */
export async function contentsOf(
  sql: Sql,
  { tableNames }: Pick<Dialect, 'tableNames'>,
): Promise<{ tables: string[]; applied: string[] }> {
  const found = await sql.query<{ name: string }>(tableNames);
  const tables = found.map(({ name }) => name);
  if (!tables.includes('_prisma_migrations')) return { tables, applied: [] };
  const rows = await sql.query<{ migration_name: string }>(APPLIED);
  return { tables, applied: rows.map((row) => row.migration_name) };
}

interface Shipped {
  readonly folder: string;
  readonly names: string[];
}

/** Read once: the package may be replaced by a newer one while this process runs. */
const shippedFor = new Map<Dialect['provider'], Shipped>();

/** The migrations in this program's package for a database: their folder, and their names in order. */
export function shippedMigrations({ provider }: Dialect): Shipped {
  const known = shippedFor.get(provider);
  if (known !== undefined) return known;
  const folder = join(FOLDER, provider, 'migrations');
  const entries = readdirSync(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const shipped = { folder, names: names.sort() };
  shippedFor.set(provider, shipped);
  return shipped;
}

/**
 * Refuses a database with migrations that this program does not know: it cannot know what the tables mean.
 * @throws MirrorError `DATABASE`
 */
export function refuseNewer(
  name: string,
  applied: readonly string[],
  { names }: { names: readonly string[] },
): void {
  const unknown = applied.filter((migration) => !names.includes(migration));
  if (unknown.length === 0) return;
  throw new MirrorError(
    'DATABASE',
    `The database ${name} was made by a newer inbox-mirror (it has the migration ${unknown.join(', ')}). ` +
      'Nothing was changed; update this program, or set DATABASE_URL to another database.',
    { isNewer: true },
  );
}

/**
 * Refuses a mirror that an older program has made, for a reader that may not migrate it.
 * @throws MirrorError `DATABASE`
 */
export function refuseOlder(
  name: string,
  applied: readonly string[],
  { names }: { names: readonly string[] },
): void {
  const missing = names.filter((migration) => !applied.includes(migration));
  if (missing.length === 0) return;
  throw new MirrorError(
    'DATABASE',
    `The database ${name} was made by an older inbox-mirror ` +
      `(it lacks the migration ${missing.join(', ')}). ` +
      'Nothing was changed; run `inbox-mirror status` of this version once, which migrates it.',
  );
}

/** Tables of every mirror. A restore makes all tables before it fills the first. */
const OWN_TABLES = ['_prisma_migrations', 'leases', 'sweeps'];

/**
 * Refuses a database that has tables but no mirror: one of them could have the name of a mirror's table.
 * @param tables the names of the database's tables
 * @throws MirrorError `CONFIG`: a restart does not help; `DATABASE` while a mirror is being restored
 */
export function refuseForeign(
  name: string,
  tables: readonly string[],
  applied: readonly string[],
  { names }: { names: readonly string[] },
): void {
  const foreign = tables.filter((table) => !table.startsWith('sqlite_'));
  if (foreign.length === 0 || applied.some((migration) => names.includes(migration))) return;
  if (applied.length === 0 && OWN_TABLES.every((table) => tables.includes(table)))
    throw new MirrorError(
      'DATABASE',
      `The database ${name} has the tables of a mirror, but not yet their rows: a backup is being ` +
        'restored, or its restore was stopped. Nothing was changed; run the command again after it.',
    );
  const some =
    foreign.toSorted().slice(0, MOST_NAMED).join(', ') + (foreign.length > MOST_NAMED ? ', …' : '');
  throw new MirrorError(
    'CONFIG',
    `The database ${name} holds another program’s tables (${some}) and no mirror. ` +
      'Nothing was changed; set DATABASE_URL to an empty database, ' +
      'or on PostgreSQL to a separate schema (?schema=inbox_mirror).',
  );
}
