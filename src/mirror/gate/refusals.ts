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
 * True if the service has answered a request between this one, which has failed, and the failure before it.
 * If there is no such failure, the answers of the last hour count.
 */
export async function isServedSinceFailure(sql: Sql, requestId: number, now: number): Promise<boolean> {
  const [row] = await sql.query<{ served: number }>(
    `SELECT count(*) AS served FROM requests WHERE sent_at > $1 AND id < $2 AND status < 300 AND id >
       (SELECT COALESCE(max(id), 0) FROM requests WHERE sent_at > $1 AND id < $2 AND status >= 500)`,
    iso(now - HOUR),
    requestId,
  );
  return (row?.served ?? 0) > 0;
}
