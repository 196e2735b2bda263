import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import type { Database } from '../database.ts';
import { contentsOf, refuseForeign, refuseNewer, shippedMigrations } from './shipped.ts';
import { applyMigrations } from './schema-engine.ts';
import { ensureViews, viewDrops } from '../views/views.ts';

/**
 * Takes the lease from a writer of an older program, which would write on as if nothing had changed. It finds
 * the migration when it claims the lease again (`refuseMigrated`).
 */
const TAKE_LEASE = 'DELETE FROM leases';

/**
 * Applies the missing migrations in one transaction, with Prisma's schema engine, then updates the views.
 * Without a missing migration the engine is not loaded (docs/decisions/0008).
 * @throws MirrorError `DATABASE` for a database that a newer program has migrated or that holds another
 *   program's tables
 */
export async function migrate(database: Database, factory: SqlDriverAdapterFactory): Promise<void> {
  const shipped = shippedMigrations(database.dialect);
  const { tables, applied } = await contentsOf(database);
  refuseForeign(database.name, tables, applied, shipped);
  refuseNewer(database.name, applied, shipped);
  if (!shipped.names.every((name) => applied.includes(name))) {
    // A migration cannot rebuild a table that a view reads. If it fails, the views are there as before.
    const drops = tables.includes('settings') ? await viewDrops(database) : [];
    const begin = [...database.dialect.beginMigration, ...drops];
    await applyMigrations(shipped, factory, { begin, end: TAKE_LEASE });
  }
  await ensureViews(database);
}
