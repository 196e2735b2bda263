import type { Sql } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { readSetting, writeSetting } from '../settings/settings.ts';
import { refuseEnded } from '../sweeps/ended.ts';
import type { Sweep } from '../sweeps/sweeps.ts';

/**
 * A round is a sweep in the state `reading`: it reads pages singly, each at its own time, and is complete
 * once every page of the list has been read since the schedule's slot.
 */

/**
 * Resumes the list's round, or begins one.
 * @returns a sweep without a next page
 * @throws MirrorError `SWEEP_ENDED`
 */
export async function openRound(tx: Sql, inboxId: string, now: number): Promise<Sweep> {
  const round = (await readRound(tx, inboxId)) ?? (await beginRound(tx, inboxId, now));
  await refuseEnded(tx, round);
  return round;
}

async function beginRound(tx: Sql, inboxId: string, now: number): Promise<Sweep> {
  await tx.execute(
    // Rows that an earlier sweep held still wait for a person.
    `INSERT INTO sweeps (list, inbox_id, reason, state, started_at, heartbeat_at, held)
     VALUES ('conversations', $1, 'schedule', 'reading', $2, $2, COALESCE((
       SELECT held FROM sweeps WHERE list = 'conversations' AND inbox_id = $1 AND state = 'complete'
       ORDER BY id DESC LIMIT 1), 0))`,
    inboxId,
    iso(now),
  );
  const begun = await readRound(tx, inboxId);
  if (begun === null) throw new Error(`no round of inbox ${inboxId}`);
  return begun;
}

async function readRound(tx: Sql, inboxId: string): Promise<Sweep | null> {
  const [row] = await tx.query<{ id: number; started_at: Date; items: number; without_id: number }>(
    `SELECT id, started_at, items, without_id FROM sweeps
     WHERE list = 'conversations' AND inbox_id = $1 AND state = 'reading' ORDER BY id DESC LIMIT 1`,
    inboxId,
  );
  if (row === undefined) return null;
  return {
    id: row.id,
    list: 'conversations',
    inboxId,
    reason: 'schedule',
    nextPage: null,
    pages: 0,
    restarts: 0,
    items: row.items,
    rejected: 0,
    withoutId: row.without_id,
    startedAt: row.started_at,
    // Only a complete walk lays bookmarks.
    baseline: false,
    walked: true,
    tokens: new Set(),
  };
}

const REJECTS = `FROM rejects WHERE list = 'conversations' AND inbox_id = $1`;

/**
 * Completes the list's round if every page has been read since `slot` and no other sweep has done that. The
 * round then counts as complete as of the oldest of these readings. It ends the suspicion of the tokens: a
 * mistake would have ended the round. Rejected rows from before that reading are deleted, because no page
 * has shown them since. Rows that the list no longer shows do not count.
 */
export async function completeRound(tx: Sql, inboxId: string, slot: Date): Promise<boolean> {
  const done = await tx.execute(
    `UPDATE sweeps SET state = 'complete', finished_at = read.oldest,
       started_at = CASE WHEN started_at < read.oldest THEN started_at ELSE read.oldest END,
       pages = read.pages,
       items = (SELECT count(*) FROM conversations
         WHERE inbox_id = $1 AND deleted_at IS NULL AND missing_since IS NULL AND id NOT IN (
           SELECT item_id FROM unlisted WHERE list = 'conversations' AND inbox_id = $1)),
       rejected = (SELECT count(*) ${REJECTS} AND seen_at >= read.oldest),
       without_id = (SELECT count(*) ${REJECTS} AND seen_at >= read.oldest AND item_id IS NULL)
     FROM (SELECT min(read_at) AS oldest, count(*) AS pages FROM bookmarks WHERE inbox_id = $1) AS read
     WHERE list = 'conversations' AND inbox_id = $1 AND state = 'reading' AND read.oldest >= $2
       AND NOT EXISTS (SELECT 1 FROM sweeps AS other WHERE other.list = 'conversations'
         AND other.inbox_id = $1 AND other.state = 'complete' AND other.finished_at >= $2)`,
    inboxId,
    iso(slot),
  );
  if (done === 0) return false;
  await tx.execute(
    `DELETE ${REJECTS} AND seen_at < (SELECT min(read_at) FROM bookmarks WHERE inbox_id = $1)`,
    inboxId,
  );
  await tx.execute(
    `UPDATE bookmark_lists SET refused = 0, mistaken = 0
     WHERE inbox_id = $1 AND refused + mistaken > 0`,
    inboxId,
  );
  return true;
}

/** Ends the list's round: a walk has read the whole list. */
export async function abandonRound(tx: Sql, inboxId: string | null, now: number): Promise<void> {
  await tx.execute(
    `UPDATE sweeps SET state = 'abandoned', finished_at = $2,
       error = 'replaced by a sweep from the first page'
     WHERE list = 'conversations' AND inbox_id = $1 AND state = 'reading'`,
    inboxId,
    iso(now),
  );
}

/** The setting that holds over how many days one reading of every page is spread. */
const COVER_DAYS = 'cover_days';

/** No daemon records more days: those of 1,800,000 conversations with one request a day. */
const MOST_COVER_DAYS = 36_500;

/** Over how many days one reading of every page is spread; 1 unless a daemon has recorded more. */
export async function readCoverDays(sql: Sql): Promise<number> {
  const days = Number((await readSetting(sql, COVER_DAYS)) ?? 1);
  return days >= 1 && days <= MOST_COVER_DAYS ? days : 1;
}

export async function writeCoverDays(tx: Sql, days: number): Promise<void> {
  await writeSetting(tx, COVER_DAYS, String(days));
}
