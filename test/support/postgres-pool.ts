import { Client } from 'pg';
import { inject, onTestFinished } from 'vitest';
import { TEMPLATE, createDatabase, postgresUrl } from './provider.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The result of `shapeOf` for the template. */
    templateShape: string;
  }
}

/** Emptied mirrors of earlier tests of this worker. They end with the server. */
const idle: string[] = [];
/** The mirrors of the test that runs now. */
const lent: string[] = [];

/**
 * The address of a migrated, empty mirror on the server. A copy of the template costs ten times as much as
 * emptying a mirror. The next test therefore reuses a test's mirror, unless the test changed more than rows.
 */
export async function emptyPostgresMirror(): Promise<string> {
  const name = idle.pop() ?? (await createDatabase(TEMPLATE));
  lent.push(name);
  onTestFinished(returnMirrors);
  return postgresUrl(name);
}

/** Empties the mirrors of the test, or of one history of a property, for others to use. */
export async function returnMirrors(): Promise<void> {
  for (const name of lent.splice(0)) if (await empty(postgresUrl(name))) idle.push(name);
}

/** Closes the other connections to a mirror and empties it. Returns whether a test can reuse it. */
async function empty(url: string): Promise<boolean> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(EMPTY);
    return (await shapeOf(client)) === inject('templateShape');
  } finally {
    await client.end();
  }
}

/**
 * Keeps the `views` row of `settings`, because the views stay.
 * Truncates large tables, because scans of their dead rows would slow down the next test.
 */
const EMPTY = `
  SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
  SET session_replication_role = replica;
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> '_prisma_migrations' LOOP
      IF pg_relation_size(name::regclass) > 1000000 THEN EXECUTE 'TRUNCATE ' || name;
      ELSIF name = 'settings' THEN DELETE FROM settings WHERE settings.name <> 'views';
      ELSE EXECUTE 'DELETE FROM ' || name;
      END IF;
    END LOOP;
    PERFORM setval(oid, 1, false) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S';
  END $$;
`;

/** One hash of everything in a database except the rows of the mirror. */
export async function shapeOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ shape: string }>(`
    SELECT md5(string_agg(part, ',' ORDER BY part COLLATE "C")) AS shape FROM (
      SELECT concat('schema ', nspname) AS part FROM pg_namespace WHERE nspname NOT LIKE 'pg_%'
      UNION ALL SELECT concat(relkind, ' ', relname, ' ', relacl, ' ', relowner, ' ', reloptions) FROM pg_class WHERE relnamespace = 'public'::regnamespace
      UNION ALL SELECT concat('column ', relname, ' ', attname, ' ', atttypid, ' ', attnotnull) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'public'::regnamespace AND attnum > 0
      UNION ALL SELECT concat('trigger ', tgname) FROM pg_trigger
      UNION ALL SELECT concat('function ', proname) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL SELECT concat('database ', datacl, ' ', datallowconn, ' ', datconnlimit) FROM pg_database WHERE datname = current_database()
      UNION ALL SELECT concat('setting ', setconfig) FROM pg_db_role_setting
      UNION ALL SELECT concat('migration ', migration_name, ' ', finished_at IS NULL, ' ', rolled_back_at) FROM _prisma_migrations
    ) AS parts`);
  return rows[0]?.shape ?? '';
}
