import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import type { Database, Sql } from '../database.ts';
import { contentsOf, refuseForeign, refuseNewer, shippedMigrations } from './shipped.ts';
import { applyMigrations } from './schema-engine.ts';
import { dropViews, ensureViews, makeViews } from '../views/views.ts';

/**
 * Takes the lease from a writer of an older program, which would write on as if nothing had changed. It finds
 * the migration when it claims the lease again (`refuseMigrated`).
 */
const TAKE_LEASE = 'DELETE FROM leases';

/**
 * Applies the missing migrations, with Prisma's schema engine, and updates the views: in one transaction, so
 * that a reader sees the old mirror or the new one. Without a missing migration the engine is not loaded
 * (docs/decisions/0008).
 * @throws MirrorError `DATABASE` for a database that a newer program has migrated, `CONFIG` for one that
 *   holds another program's tables
 */
export async function migrate(database: Database, factory: SqlDriverAdapterFactory): Promise<void> {
  const { name, dialect } = database;
  const shipped = shippedMigrations(dialect);
  const applied = await refuseUnfit(database);
  if (hasMissing(applied, shipped)) {
    // Another process may have migrated the mirror since it was looked at.
    const prepare = async (tx: Sql): Promise<boolean> => {
      const now = await contentsOf(tx, dialect);
      refuseNewer(name, now.applied, shipped);
      if (!hasMissing(now.applied, shipped)) return false;
      // A migration cannot rebuild a table that a view reads. If it fails, the views are there as before.
      if (now.tables.includes('settings')) await dropViews(tx);
      return true;
    };
    const finish = async (tx: Sql): Promise<void> => {
      await tx.execute(TAKE_LEASE);
      await makeViews(tx, dialect);
    };
    await applyMigrations(shipped, factory, { dialect, prepare, finish });
  }
  await ensureViews(database);
}

/**
 * Refuses a database that `migrate` refuses, and changes nothing.
 * @returns the migrations that were applied to it
 */
export async function refuseUnfit(database: Database): Promise<readonly string[]> {
  const { name, dialect } = database;
  const shipped = shippedMigrations(dialect);
  const { tables, applied } = await contentsOf(database, dialect);
  refuseForeign(name, tables, applied, shipped);
  refuseNewer(name, applied, shipped);
  return applied;
}

function hasMissing(applied: readonly string[], { names }: { names: readonly string[] }): boolean {
  return !names.every((name) => applied.includes(name));
}
