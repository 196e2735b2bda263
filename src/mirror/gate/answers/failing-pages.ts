import { DAY, HOUR, MINUTE } from '../../../core/clock.ts';
import type { Sql } from '../../../database/database.ts';
import { iso } from '../../../database/instants.ts';
import { IS_SERVED } from './around.ts';

/** The single pages of an inbox's conversations, none of which was served, nor one in a walk. */
export interface FailingPages {
  /** When the first of them was asked for. */
  readonly since: Date;
  readonly requests: number;
  /** Why the last one failed. */
  readonly cause: string;
}

/** A list that failed rests for a day at most, and is asked for again soon after. */
const SINCE_MS = DAY + HOUR;

/** A page that failed rests for 10 minutes. Until it has failed again, that is no news. */
const LEAST_MS = 15 * MINUTE;

/** 429s are most often the account's, and end in less time than this. */
const LEAST_OF_429S_MS = 2 * HOUR;

/**
 * Reads from the ledger which inboxes' single pages fail at `now` (epoch ms), by inbox. 429s count where
 * pages fail in no other way.
 */
export async function readFailingPages(sql: Sql, now: number): Promise<Map<string, FailingPages>> {
  const failed = await sql.query<{
    inbox_id: string;
    sent_at: Date;
    error: string;
    status: number | null;
  }>(
    `SELECT failed.inbox_id, failed.sent_at, failed.error, failed.status
     FROM (SELECT id, inbox_id, sent_at, error, status FROM requests
       WHERE reason = 'page' AND sent_at > $1 AND error IS NOT NULL) AS failed
     LEFT JOIN (SELECT inbox_id, max(id) AS id FROM requests
       WHERE list = 'conversations' AND reason <> 'probe' AND sent_at > $1 AND ${IS_SERVED}
       GROUP BY inbox_id) AS served ON served.inbox_id = failed.inbox_id
     WHERE served.id IS NULL OR failed.id > served.id ORDER BY failed.id`,
    iso(now - SINCE_MS),
  );
  const failing = new Map<string, FailingPages>();
  for (const [inboxId, all] of Map.groupBy(failed, ({ inbox_id: id }) => id)) {
    const others = all.filter(({ status }) => status !== 429);
    const requests = others.length > 0 ? others : all;
    const [first, last] = [requests[0]!, requests.at(-1)!];
    // A single 429 is no news, however long ago it was.
    const spanMs = (others.length > 0 ? now : last.sent_at.getTime()) - first.sent_at.getTime();
    if (spanMs < (others.length > 0 ? LEAST_MS : LEAST_OF_429S_MS)) continue;
    failing.set(inboxId, { since: first.sent_at, requests: requests.length, cause: last.error });
  }
  return failing;
}
