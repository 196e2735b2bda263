import type { Sql } from '../../database/database.ts';

/** Reads a value of the table `settings`; null if there is none. */
export async function readSetting(sql: Pick<Sql, 'query'>, name: string): Promise<string | null> {
  const [row] = await sql.query<{ value: string }>(`SELECT value FROM settings WHERE name = $1`, name);
  return row?.value ?? null;
}

/** Writes a value of the table `settings`, in place of the one before. */
export async function writeSetting(tx: Pick<Sql, 'execute'>, name: string, value: string): Promise<void> {
  await tx.execute(
    `INSERT INTO settings (name, value) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    name,
    value,
  );
}
