import type { Database } from '../../database/database.ts';
import { readSetting, writeSetting } from './settings.ts';

/** The setting that holds the address of the service that answered last. */
const NAME = 'service_address';

/** True if the service has answered this mirror at this address, and at no other one since. */
export async function isProvenAddress(database: Database, address: string): Promise<boolean> {
  return (await readSetting(database, NAME)) === address;
}

/** Records that the service has answered at this address. */
export async function proveAddress(database: Database, address: string): Promise<void> {
  await database.transaction(async (tx) => await writeSetting(tx, NAME, address));
}
