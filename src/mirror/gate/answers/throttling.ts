import { DAY, HOUR } from '../../../core/clock.ts';
import type { ListKey } from '../../../core/lists.ts';
import type { Sql } from '../../../database/database.ts';
import { iso } from '../../../database/instants.ts';
import { IS_SERVED } from './around.ts';

/** A path, or a kind of question, that drew this many 429s in a row may have a limit of its own. */
const LEAST_429S = 2;

/** The account is not throttled if, since the first of them, ten other requests were served. */
const LEAST_SERVED = 10;

/**
 * Three served requests, and no second 429, are enough if the first 429 is six hours old. The service then
 * asked for a long pause, which silences the whole mirror and lowers the budget afterwards.
 */
const LONG_MS = 6 * HOUR;
const LEAST_SERVED_AFTER_LONG = 3;

/** The 429s of three days count, because a service may ask to wait a day after each. */
const SINCE_MS = 3 * DAY;

/** After this many 429s in a row, questions rest longer no more: 1, 2, 4, then 8 hours. */
const MOST_DOUBLINGS = 3;

/**
 * True while questions about rows of the list rest at `now` (epoch ms). One 429 for its inbox, or two in a
 * row for its kind, begin a rest. The rest lasts an hour from the end of the pause that the 429 began, and
 * twice as long after each further 429, up to 8 hours.
 */
export async function questionsRest(sql: Sql, { list, inboxId }: ListKey, now: number): Promise<boolean> {
  const newestFirst = await sql.query<Question>(
    `SELECT sent_at, inbox_id, status FROM requests
     WHERE sent_at > $1 AND reason = 'probe' AND list = $2 AND status IS NOT NULL
     ORDER BY sent_at DESC, id DESC`,
    iso(now - SINCE_MS),
    list,
  );
  const pauseEnds = await ownPauseEnds(sql, newestFirst[0]);
  const ofInbox = newestFirst.filter(({ inbox_id: id }) => id === inboxId);
  return (
    restsAfter(ofInbox, 1, { pauseEnds, now }) || restsAfter(newestFirst, LEAST_429S, { pauseEnds, now })
  );
}

/** When the pause ends that the last question has begun, epoch ms; 0 if another 429 has come since. */
async function ownPauseEnds(sql: Sql, last: Question | undefined): Promise<number> {
  if (last?.status !== 429) return 0;
  const [gate] = await sql.query<{ paused_until: Date | null }>(
    `SELECT paused_until FROM gate_state
     WHERE NOT EXISTS (SELECT 1 FROM requests WHERE sent_at > $1 AND status = 429)`,
    iso(last.sent_at),
  );
  return gate?.paused_until?.getTime() ?? 0;
}

interface Question {
  readonly sent_at: Date;
  readonly inbox_id: string | null;
  readonly status: number;
}

/** @param least the 429s in a row after which questions rest */
function restsAfter(
  newestFirst: readonly Question[],
  least: number,
  { pauseEnds, now }: { pauseEnds: number; now: number },
): boolean {
  const answered = newestFirst.findIndex(({ status }) => status !== 429);
  const throttled = answered === -1 ? newestFirst.length : answered;
  const last = newestFirst[0];
  if (last === undefined || throttled < least) return false;
  // Else a question would be the first request after a long pause, and begin the next one.
  const from = Math.max(last.sent_at.getTime(), pauseEnds);
  return now - from < HOUR * 2 ** Math.min(throttled - least, MOST_DOUBLINGS);
}

/**
 * With this many 429s in an hour, served requests take no strike away: at the full rate each request of
 * another client collides with one of this mirror, and both draw a 429.
 */
const STORM_429S = 12;

/**
 * The number of requests that were served since a pause ended at `since`, if they count against its strikes
 * at `now` (epoch ms); else 0.
 */
export async function countServed(sql: Sql, since: Date | null, now: number): Promise<number> {
  if (since === null) return 0;
  const [row] = await sql.query<{ served: number; throttled: number }>(
    `SELECT (SELECT count(*) FROM requests WHERE sent_at >= $1 AND ${IS_SERVED}) AS served,
       (SELECT count(*) FROM requests WHERE sent_at > $2 AND status = 429) AS throttled`,
    iso(since.getTime()),
    iso(now - HOUR),
  );
  return row === undefined || row.throttled >= STORM_429S ? 0 : row.served;
}

export interface SentRequest {
  readonly path: string;
  readonly reason: string;
  readonly list: string | null;
  readonly inbox_id: string | null;
}

/** A SQL condition on requests, and the values of its parameters from `$2` on. */
type Condition = readonly [sql: string, ...values: (string | null)[]];

/**
 * Since when requests of this kind alone draw 429s; null if they do not. In the hour before `now` (epoch ms)
 * none of them was served, and since the first of their 429s in a row others were served, and none of these
 * drew one. The account's limits are then kept.
 */
export async function throttledAloneSince(sql: Sql, sent: SentRequest, now: number): Promise<Date | null> {
  for (const condition of kindsOf(sent)) {
    const since = await aloneSince(sql, condition, now);
    if (since !== null) return since;
  }
  return null;
}

/**
 * The groups of requests that may have a limit of their own. For lists: the path, the inbox, the kind of
 * list. Each question about a row has another path: its kind in the inbox, and its kind everywhere.
 */
function kindsOf({ path, reason, list, inbox_id: inboxId }: SentRequest): Condition[] {
  const samePath: Condition = ['path = $2', path];
  if (list === null || inboxId === null) return [samePath];
  const isQuestion = `reason ${reason === 'probe' ? '=' : '<>'} 'probe'`;
  const ofKind: Condition = [`${isQuestion} AND list = $2`, list];
  const ofInbox: Condition =
    reason === 'probe'
      ? [`${isQuestion} AND list = $2 AND inbox_id = $3`, list, inboxId]
      : // The list of inboxes has none, and is one of the others.
        [`${isQuestion} AND COALESCE(inbox_id, '') = $2`, inboxId];
  return [samePath, ofInbox, ofKind];
}

async function aloneSince(sql: Sql, [isOwn, ...values]: Condition, now: number): Promise<Date | null> {
  const [served] = await sql.query<{ sent_at: Date }>(
    `SELECT sent_at FROM requests WHERE sent_at > $1 AND ${isOwn} AND ${IS_SERVED}
     ORDER BY sent_at DESC LIMIT 1`,
    iso(now - SINCE_MS),
    ...values,
  );
  if (served !== undefined && served.sent_at.getTime() > now - HOUR) return null;
  const throttled = await sql.query<{ sent_at: Date }>(
    `SELECT sent_at FROM requests WHERE sent_at > $1 AND ${isOwn} AND status = 429
     ORDER BY sent_at LIMIT ${LEAST_429S}`,
    iso(served?.sent_at ?? now - SINCE_MS),
    ...values,
  );
  const [first] = throttled;
  if (first === undefined) return null;
  const isLong = now - first.sent_at.getTime() >= LONG_MS;
  if (throttled.length < LEAST_429S && !isLong) return null;
  const [others] = await sql.query<{ served: number; throttled: number }>(
    `SELECT (SELECT count(*) FROM requests WHERE sent_at > $1 AND NOT (${isOwn}) AND ${IS_SERVED}) AS served,
       (SELECT count(*) FROM requests AS other WHERE sent_at > $1 AND NOT (${isOwn}) AND status = 429
          AND other.path IN (SELECT path FROM requests WHERE sent_at > $1 AND ${IS_SERVED})) AS throttled`,
    iso(first.sent_at),
    ...values,
  );
  const least = isLong ? LEAST_SERVED_AFTER_LONG : LEAST_SERVED;
  const isAlone = others !== undefined && others.throttled === 0 && others.served >= least;
  return isAlone ? first.sent_at : null;
}
