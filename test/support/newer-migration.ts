import type { Sql } from '../../src/database/database.ts';

export const NEWER_MIGRATION = '29990101000000_from_the_future';

/** Makes the mirror look as if a newer inbox-mirror had migrated it with `NEWER_MIGRATION`. */
export async function plantNewerMigration(sql: Sql): Promise<void> {
  await sql.execute(
    `INSERT INTO _prisma_migrations
       (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     SELECT 'x', 'x', '${NEWER_MIGRATION}', started_at, finished_at, 1 FROM _prisma_migrations LIMIT 1`,
  );
}
