import type { Sql } from '../../database/database.ts';
import { readSetting, writeSetting } from './settings.ts';

/** The setting that holds the id. */
const NAME = 'clock_set_after';

/**
 * The id of the last change before the clock was last set; 0 if it was not. Only later changes have instants
 * that can be compared with the present clock.
 */
export async function readClockSetAfter(sql: Pick<Sql, 'query'>): Promise<number> {
  const id = Number((await readSetting(sql, NAME)) ?? 0);
  return Number.isSafeInteger(id) ? id : 0;
}

/** Records that the clock has been set now. */
export async function writeClockSet(tx: Sql): Promise<void> {
  const [last] = await tx.query<{ id: number | null }>(`SELECT max(id) AS id FROM changes`);
  await writeSetting(tx, NAME, String(last?.id ?? 0));
}
