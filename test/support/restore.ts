import type { Database } from '../../src/database/database.ts';
import { iso } from '../../src/database/instants.ts';

type Row = Record<string, unknown>;

/** The tables of the feed at one moment, as a backup of the database has them. */
export interface Backup {
  readonly changes: readonly Row[];
  readonly epochs: readonly Row[];
}

export async function backUp(database: Database): Promise<Backup> {
  return {
    changes: await database.query<Row>('SELECT * FROM changes ORDER BY id'),
    epochs: await database.query<Row>('SELECT * FROM epochs'),
  };
}

/** A value in the form in which statements take it: instants and JSON as text. */
function storable(value: unknown): unknown {
  if (value instanceof Date) return iso(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

/** Puts the feed back to the backup. The next change then gets an id that may have been used before. */
export async function restore(database: Database, { changes, epochs }: Backup): Promise<void> {
  for (const [table, rows] of Object.entries({ changes, epochs })) {
    await database.execute(`DELETE FROM ${table}`);
    for (const row of rows) {
      const names = Object.keys(row);
      const places = names.map((_name, index) => `$${index + 1}`);
      await database.execute(
        `INSERT INTO ${table} (${names.join(', ')}) VALUES (${places.join(', ')})`,
        ...Object.values(row).map(storable),
      );
    }
  }
  const newest = Number(changes.at(-1)?.['id'] ?? 0);
  if (database.dialect.provider === 'sqlite')
    await database.execute(`UPDATE sqlite_sequence SET seq = $1 WHERE name = 'changes'`, newest);
  else await database.query(`SELECT setval('changes_id_seq', CAST($1 AS BIGINT) + 1, false)`, newest);
}
