import { randomUUID } from 'node:crypto';
import type { Database } from '../../database/database.ts';

/** The setting that holds the mirror's id. */
const NAME = 'mirror_id';

/**
 * A random id that tells a mirror from an earlier one at the same path or address; null before
 * {@link ensureMirrorId}. A copy of the database has the same id.
 */
export async function readMirrorId(database: Database): Promise<string | null> {
  const [row] = await database.query<{ value: string }>('SELECT value FROM settings WHERE name = $1', NAME);
  return row?.value ?? null;
}

/** Writes an id, unless the mirror has one. */
export async function ensureMirrorId(database: Database): Promise<void> {
  if ((await readMirrorId(database)) !== null) return;
  await database.transaction(async (tx) => {
    await tx.execute(
      'INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
      NAME,
      randomUUID(),
    );
  });
}
