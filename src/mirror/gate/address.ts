import type { Database } from '../../database/database.ts';

/** The setting that holds the address of the service that answered last. */
const NAME = 'service_address';

/** True if the service has answered this mirror at this address, and at no other one since. */
export async function isProvenAddress(database: Database, address: string): Promise<boolean> {
  const rows = await database.query(
    'SELECT value FROM settings WHERE name = $1 AND value = $2',
    NAME,
    address,
  );
  return rows.length > 0;
}

/** Records that the service has answered at this address. */
export async function proveAddress(database: Database, address: string): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.execute(
      `INSERT INTO settings (name, value) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      NAME,
      address,
    );
  });
}
