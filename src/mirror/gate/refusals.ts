import { HOUR } from '../../core/clock.ts';
import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';

/** A path that drew this many 429s in an hour may have a limit of its own. */
const LEAST_REFUSALS = 2;

/** That many answers to other requests since the first of them show that the account is not refused. */
const LEAST_SERVED = 10;

/**
 * True if a path alone draws 429s: in the hour before `now` (epoch ms) no request for it was served and no
 * other path was refused, but others were served since its first 429. The account's limits are then kept.
 */
export async function isRefusedAlone(sql: Sql, path: string, now: number): Promise<boolean> {
  const [row] = await sql.query<{ refused: number; elsewhere: number; served: number }>(
    `SELECT (SELECT count(*) FROM requests WHERE sent_at > $1 AND path = $2 AND status = 429) AS refused,
       (SELECT count(*) FROM requests WHERE sent_at > $1 AND path <> $2 AND status = 429) AS elsewhere,
       (SELECT count(*) FROM requests WHERE sent_at > $1 AND path = $2 AND status < 300) AS served`,
    iso(now - HOUR),
    path,
  );
  if (row === undefined || row.refused < LEAST_REFUSALS || row.elsewhere > 0 || row.served > 0) return false;
  const [others] = await sql.query<{ served: number }>(
    `SELECT count(*) AS served FROM requests WHERE path <> $2 AND status < 300 AND sent_at >
       (SELECT min(sent_at) FROM requests WHERE sent_at > $1 AND path = $2 AND status = 429)`,
    iso(now - HOUR),
    path,
  );
  return (others?.served ?? 0) >= LEAST_SERVED;
}

/**
 * True if a request failed although the service answers others, so that its path alone fails. The service has
 * answered another request since the failure before, or since the path's own failure before: two broken
 * lists that are read one after the other are no outage. Only answers of the last hour count. In a pause that
 * no answer has ended yet, only those since it began count.
 */
export async function isFailingAlone(sql: Sql, requestId: number, now: number): Promise<boolean> {
  const before = 'SELECT id, path, status FROM requests WHERE id < $2';
  const [row] = await sql.query<{ served: number }>(
    `SELECT count(*) AS served FROM requests WHERE sent_at > $1 AND id <> $2 AND status < 300
       AND sent_at > COALESCE((SELECT paused_at FROM gate_state), $1)
       AND (id > (SELECT COALESCE(max(id), 0) FROM (${before} AND sent_at > $1) AS recent WHERE status >= 500)
         OR id > (SELECT id FROM (${before} AND path = (SELECT path FROM requests WHERE id = $2)
           ORDER BY id DESC LIMIT 1) AS own WHERE status >= 500))`,
    iso(now - HOUR),
    requestId,
  );
  return (row?.served ?? 0) > 0;
}
