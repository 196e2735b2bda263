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

/**
 * Reads from the ledger which inboxes' single pages fail at `now` (epoch ms), by inbox. A 429 is no failure
 * of the page.
 */
export async function readFailingPages(sql: Sql, now: number): Promise<Map<string, FailingPages>> {
  const failed = await sql.query<{ inbox_id: string; sent_at: Date; error: string }>(
    `SELECT failed.inbox_id, failed.sent_at, failed.error
     FROM (SELECT id, inbox_id, sent_at, error FROM requests
       WHERE reason = 'page' AND sent_at > $1 AND error IS NOT NULL AND COALESCE(status, 0) <> 429) AS failed
     LEFT JOIN (SELECT inbox_id, max(id) AS id FROM requests
       WHERE list = 'conversations' AND reason <> 'probe' AND sent_at > $1 AND ${IS_SERVED}
       GROUP BY inbox_id) AS served ON served.inbox_id = failed.inbox_id
     WHERE served.id IS NULL OR failed.id > served.id ORDER BY failed.id`,
    iso(now - SINCE_MS),
  );
  const byInbox = new Map<string, FailingPages>();
  for (const { inbox_id: inboxId, sent_at: sentAt, error } of failed) {
    const { since, requests } = byInbox.get(inboxId) ?? { since: sentAt, requests: 0 };
    byInbox.set(inboxId, { since, requests: requests + 1, cause: error });
  }
  return new Map([...byInbox].filter(([, { since }]) => now - since.getTime() >= LEAST_MS));
}
