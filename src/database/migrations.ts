import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MirrorError } from '../core/errors.ts';
import type { Dialect } from './dialect.ts';

/** From src/database or dist/database alike, two folders up. */
const FOLDER = join(import.meta.dirname, '../../prisma');

/** So many of another program's tables are named. */
const SHOWN = 3;

/** The query for the `migration_name` of each migration that a database has had, where its table of them is there. */
export const APPLIED = `SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;

/** The migrations that this program brings for a database: their folder, and their names in order. */
export function shippedMigrations({ provider }: Dialect): { folder: string; names: string[] } {
  const folder = join(FOLDER, provider, 'migrations');
  const entries = readdirSync(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return { folder, names: names.sort() };
}

/** @throws MirrorError `DATABASE` for a database with migrations that this program does not know: what it means by its tables nobody can tell. */
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
  );
}

/**
 * @param tables the names of the database's tables
 * @throws MirrorError `DATABASE` where there are tables, but none of a mirror: one of the same name would be taken for the mirror's own.
 */
export function refuseForeign(
  name: string,
  tables: readonly string[],
  applied: readonly string[],
  { names }: { names: readonly string[] },
): void {
  const foreign = tables.filter((table) => !table.startsWith('sqlite_'));
  if (foreign.length === 0 || applied.some((migration) => names.includes(migration))) return;
  const some = foreign.toSorted().slice(0, SHOWN).join(', ');
  throw new MirrorError(
    'DATABASE',
    `The database ${name} holds another program’s tables (${some}${foreign.length > SHOWN ? ', …' : ''}) and no mirror. ` +
      'Nothing was changed; set DATABASE_URL to an empty database, or on PostgreSQL to a schema of its own (?schema=inbox_mirror).',
  );
}
