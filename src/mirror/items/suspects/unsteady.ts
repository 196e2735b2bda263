import { HOUR } from '../../../core/clock.ts';
import type { Sql } from '../../../database/database.ts';
import { iso } from '../../../database/instants.ts';

/** For how long the service's own contradiction counts, in ms. */
const UNSTEADY_MS = 6 * HOUR;

/**
 * True if the service, in the hours before `now` (epoch ms), did not know a row by its id and later returned
 * it by the same id. Perhaps one of several servers answered that has no rows. The ledger has it, so that the
 * questions of all lists count. A search names no id, and all searches of a list have one path in the ledger.
 */
export async function isUnsteady(sql: Sql, now: number): Promise<boolean> {
  const rows = await sql.query(
    `SELECT 1 FROM requests AS lost
     WHERE lost.sent_at > $1 AND lost.status = 404 AND lost.reason = 'probe'
       AND lost.path NOT LIKE '%/search' AND EXISTS (
       SELECT 1 FROM requests AS found WHERE found.sent_at > $1 AND found.id > lost.id
         AND found.path = lost.path AND found.status < 300 AND found.reason = 'probe')
     LIMIT 1`,
    iso(now - UNSTEADY_MS),
  );
  return rows.length > 0;
}
