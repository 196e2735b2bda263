import { DAY } from '../../core/clock.ts';
import { MISSING, PRESENCE } from '../../core/diff.ts';
import { type ListKey, type ListName, TABLES } from '../../core/lists.ts';
import type { Database } from '../../database/database.ts';
import { iso } from '../../database/instants.ts';
import { COVERED_TABLES } from './tombstones.ts';

/** Up to 20 rows of a kind are deleted in a day whatever their share. */
const ALWAYS_ALLOWED = 20;
/** More rows are held if they are more than this share of the kind's live rows. */
const SHARE = 0.1;
/** Tombstones of the last 24 hours count, so that many small deletions are held like one large one. */
const WINDOW_MS = DAY;

/**
 * True if deleting these rows must wait for a person (docs/decisions/0010). Counted together: the suspects of
 * all lists of this kind, and what the last 24 hours have deleted without a person's consent; for inboxes
 * also the rows that their tombstones would cover.
 */
export async function exceedsBrake(
  database: Database,
  { list }: Pick<ListKey, 'list'>,
  ids: readonly string[],
  now: number,
): Promise<boolean> {
  const [rows] = await database.query<{ live: number; waiting: number }>(
    `SELECT count(*) AS live, count(missing_since) AS waiting FROM ${TABLES[list]} WHERE deleted_at IS NULL`,
  );
  const recent = await deletedLately(database, list, now);
  const { live = 0, waiting = 0 } = rows ?? {};
  if (isTooMany(Math.max(waiting, ids.length) + recent, live + recent)) return true;
  return list === 'inboxes' && (await coversTooMany(database, ids));
}

function isTooMany(doomed: number, rows: number): boolean {
  return doomed > ALWAYS_ALLOWED && doomed > SHARE * rows;
}

async function deletedLately(database: Database, list: ListName, now: number): Promise<number> {
  const [row] = await database.query<{ deleted: number; accepted: number }>(
    `SELECT
       (SELECT count(*) FROM changes ${database.dialect.readBy('changes_observed_at_idx')}
          WHERE observed_at > $2 AND list = $1 AND field = '${PRESENCE}'
          AND new_value = '${MISSING}') AS deleted,
       (SELECT CAST(COALESCE(sum(deleted), 0) AS INTEGER) FROM sweeps
        WHERE list = $1 AND heartbeat_at > $2 AND accepted) AS accepted`,
    list,
    iso(now - WINDOW_MS),
  );
  return Math.max(0, (row?.deleted ?? 0) - (row?.accepted ?? 0));
}

async function coversTooMany(database: Database, inboxIds: readonly string[]): Promise<boolean> {
  const inboxes = `SELECT value FROM ${database.dialect.texts('$1', 'ids')}`;
  for (const table of COVERED_TABLES) {
    const [rows] = await database.query<{ live: number; covered: number }>(
      `SELECT count(*) AS live, count(CASE WHEN inbox_id IN (${inboxes}) THEN 1 END) AS covered
       FROM ${table} WHERE deleted_at IS NULL`,
      JSON.stringify(inboxIds),
    );
    if (rows !== undefined && isTooMany(rows.covered, rows.live)) return true;
  }
  return false;
}
