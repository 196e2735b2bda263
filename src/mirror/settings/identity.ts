import { randomUUID } from 'node:crypto';
import type { Database } from '../../database/database.ts';
import { readSetting } from './settings.ts';

/** The setting that holds the mirror's id. */
const NAME = 'mirror_id';

/**
 * A random id that tells a mirror from an earlier one at the same path or address; null before
 * {@link ensureMirrorId}. A copy of the database has the same id.
 */
export async function readMirrorId(database: Database): Promise<string | null> {
  return await readSetting(database, NAME);
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
